// tier: unit
import { randomSource } from '../../../activities/statistics/random';
import { gapPValue } from '../../../activities/identify/verdicts/gap-p-value';
import { differenceInterval, shareInterval, wilson } from '../../../activities/statistics/intervals';
import { clusteredShare, runRates } from '../../../activities/identify/verdicts/rates';
import { student95, studentTail } from '../../../activities/statistics/student';
import { drawLabels } from '../../../bench/identification-coverage/draw-labels';
import { taskSums } from '../../../activities/identify/verdicts/task-sums';
import { sumsOf } from '../identify/verdicts/sums-of';

test('rates are shares of the episodes that called for it, coverage is a share of all failures', () => {
  const sums = sumsOf({
    successLacking: 5,
    successApplicable: 50,
    failureLacking: 30,
    failureApplicable: 60,
    failures: 100,
  });
  expect(runRates(sums, 0)).toEqual({ errorRateSuccess: 0.1, errorRateFailure: 0.5, gap: 0.4, coverage: 0.3 });
});

test('without failures the coverage is 0 and not NaN', () => {
  expect(runRates(sumsOf({ successApplicable: 5 }), 0)).toEqual({
    errorRateSuccess: 0,
    errorRateFailure: null,
    gap: null,
    coverage: 0,
  });
});

test.each([
  [4, 2.776],
  [10, 2.228],
  [30, 2.042],
])("Student's 0.975 quantile at %d degrees of freedom is %d, and its tail 0.025", (df, quantile) => {
  expect(Math.abs(student95(df) - quantile)).toBeLessThan(0.01);
  expect(studentTail(quantile, df)).toBeCloseTo(0.025, 2);
  expect(studentTail(-quantile, df)).toBeCloseTo(0.975, 2);
});

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

test('nothing to estimate has no interval and no p-value', () => {
  const sums = sumsOf({ failureLacking: 3, failureApplicable: 9, failures: 20 });
  expect(shareInterval(clusteredShare(sums, 'errorRateSuccess'))).toBeNull();
  expect(
    differenceInterval(clusteredShare(sums, 'errorRateFailure'), clusteredShare(sums, 'errorRateSuccess')),
  ).toBeNull();
  expect(gapPValue(sums, 0)).toBe(1);
});

test('without a gap the p-values of the gap test are as rare as they say', () => {
  const random = randomSource(5);
  const world = { tasks: 100, trials: 2, runs: 1, failureRate: 0.5, taskShare: 0.4, noise: 0.1 };
  const pValues = Array.from({ length: 2000 }, () => {
    const { outcomes, labels } = drawLabels(
      { errorRateSuccess: 0.3, errorRateFailure: 0.3, coverage: 0.15 },
      world,
      random,
    );
    return gapPValue(taskSums(outcomes, labels), 0);
  });
  const share = (level: number) => pValues.filter((p) => p <= level).length / pValues.length;
  expect(share(0.05)).toBeGreaterThan(0.03);
  expect(share(0.05)).toBeLessThan(0.065);
  expect(share(0.01)).toBeLessThan(0.02);
});
