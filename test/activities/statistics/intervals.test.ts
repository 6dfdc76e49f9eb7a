// tier: unit
import { clusteredShare } from '../../../activities/identify/verdicts/rates';
import { differenceInterval, shareInterval, wilson } from '../../../activities/statistics/intervals';
import { sumsOf } from '../identify/verdicts/sums-of';

// Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3.
test.each([
  [81, 263, 0.2553, 0.3662],
  [15, 148, 0.0624, 0.1605],
  [0, 20, 0, 0.1611],
  [1, 29, 0.0061, 0.1718],
])("Wilson's interval of %d / %d", (x, n, low, high) => {
  const interval = wilson(x / n, n);
  expect(interval.low).toBeCloseTo(low, 4);
  expect(interval.high).toBeCloseTo(high, 4);
});

test("with one trial a task the interval of the gap is nearly Newcombe's", () => {
  // Newcombe 1998, Statistics in Medicine 17:873-890, table II, method 10: 56/70 - 48/80, 0.0524 to 0.3339.
  const sums = sumsOf({
    failureLacking: 56,
    failureApplicable: 70,
    failures: 70,
    successLacking: 48,
    successApplicable: 80,
  });
  const gap = differenceInterval(clusteredShare(sums, 'errorRateFailure'), clusteredShare(sums, 'errorRateSuccess'));
  expect(gap?.estimate).toBeCloseTo(0.2, 10);
  expect(gap?.low).toBeCloseTo(0.0524, 1);
  expect(gap?.high).toBeCloseTo(0.3339, 2);
});

test('trials that repeat each other count as one task, not as so many observations', () => {
  const once = sumsOf({ failureLacking: 30, failureApplicable: 60, failures: 60 });
  const [short, long] = [
    once,
    {
      ...once,
      failures: once.failures.map((x) => 4 * x),
      failureLacking: once.failureLacking.map((x) => 4 * x),
      failureApplicable: once.failureApplicable.map((x) => 4 * x),
    },
  ]
    .map((sums) => shareInterval(clusteredShare(sums, 'errorRateFailure')))
    .map((interval) => (interval?.high ?? 0) - (interval?.low ?? 0)) as [number, number];
  expect(long).toBeCloseTo(short, 1);
});

test('where all tasks agree the interval is no point', () => {
  const sums = sumsOf({ failureLacking: 12, failureApplicable: 12, failures: 12 });
  expect(shareInterval(clusteredShare(sums, 'errorRateFailure'))).toMatchObject({ estimate: 1, high: 1 });
  expect(shareInterval(clusteredShare(sums, 'errorRateFailure'))?.low).toBeLessThan(0.8);
});

test('nothing to estimate has no interval', () => {
  const sums = sumsOf({ failureLacking: 3, failureApplicable: 9, failures: 20 });
  expect(shareInterval(clusteredShare(sums, 'errorRateSuccess'))).toBeNull();
  expect(
    differenceInterval(clusteredShare(sums, 'errorRateFailure'), clusteredShare(sums, 'errorRateSuccess')),
  ).toBeNull();
});
