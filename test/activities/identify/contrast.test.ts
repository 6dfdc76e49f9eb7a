// tier: unit
import { contrast, countLabel, differenceInterval, noCounts, rankKept, wilson, type Counts } from '../../../activities/identify/contrast';
import type { Label } from '../../../contracts';

const thresholds = { minGap: 0.2, minCoverage: 0.1 };
const counts = (successLacking: number, successApplicable: number, failureLacking: number, failureApplicable: number, failures = 100): Counts => ({
  successLacking,
  successApplicable,
  failureLacking,
  failureApplicable,
  failures,
  unlabelled: 0,
});

test('rates are shares of the episodes that called for it, coverage is a share of all failures', () => {
  const result = contrast('c', counts(5, 50, 30, 60), thresholds);
  expect(result).toMatchObject({ errorRateSuccess: 0.1, errorRateFailure: 0.5, gap: 0.4, coverage: 0.3, kept: true });
  expect(result.reason).toMatch(/^Kept/);
});

test('a threshold that is met exactly is met', () => {
  expect(contrast('c', counts(0, 50, 10, 50), thresholds)).toMatchObject({ gap: 0.2, coverage: 0.1, kept: true });
});

test('equally lacking in both is dropped for its gap', () => {
  const result = contrast('decoy', counts(30, 60, 35, 70), thresholds);
  expect(result).toMatchObject({ gap: 0, kept: false });
  expect(result.reason).toContain('the gap of 0.0 points is below 20.0');
});

test('too rare is dropped for its coverage', () => {
  const result = contrast('rare', counts(0, 3, 5, 5), thresholds);
  expect(result).toMatchObject({ gap: 1, coverage: 0.05, kept: false });
  expect(result.reason).toContain('5.0 % of all failures lack it, which is below 10.0 %');
});

test.each([
  ['no success called for it', counts(0, 0, 30, 40), null],
  ['no failure called for it', counts(3, 9, 0, 0), null],
  ['no episode called for it', counts(0, 0, 0, 0), null],
])('%s: nothing to contrast', (sentence, c, gap) => {
  const result = contrast('c', c, thresholds);
  expect(result).toMatchObject({ gap, gapLow: null, gapHigh: null, kept: false });
  expect(result.reason).toContain(sentence);
});

test('without failures the coverage is 0 and not NaN', () => {
  expect(contrast('c', counts(0, 5, 0, 0, 0), thresholds).coverage).toBe(0);
});

test('labels are counted by outcome; NA and null count for nothing else', () => {
  const seen: [boolean, Label | null][] = [
    [true, 'PRESENT'],
    [true, 'LACKING'],
    [false, 'LACKING'],
    [false, 'NA'],
    [true, null],
  ];
  expect(seen.reduce((sum, [success, label]) => countLabel(sum, success, label), noCounts(2))).toEqual({
    successLacking: 1,
    successApplicable: 2,
    failureLacking: 1,
    failureApplicable: 1,
    failures: 2,
    unlabelled: 1,
  });
});

describe('intervals', () => {
  // Newcombe 1998, table II, method 10: 56/70 - 48/80 = 0.2, 95 % interval 0.0524 to 0.3339; 9/10 - 3/10: 0.1705 to 0.8090; 10/10 - 0/10: 0.6075 to 1.
  test.each([
    [56, 70, 48, 80, 0.0524, 0.3339],
    [9, 10, 3, 10, 0.1705, 0.809],
    [10, 10, 0, 10, 0.6075, 1],
    [0, 10, 0, 10, -0.2775, 0.2775],
  ])('%i/%i - %i/%i', (a, m, b, n, low, high) => {
    const interval = differenceInterval(a, m, b, n);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  test('Wilson: 81/263 has 0.2553 to 0.3662', () => {
    const interval = wilson(81, 263);
    expect(interval.low).toBeCloseTo(0.2553, 4);
    expect(interval.high).toBeCloseTo(0.3662, 4);
  });
});

test('kept ones are ordered by gap times coverage, ties by id', () => {
  const results = [
    contrast('b', counts(0, 50, 30, 60), thresholds),
    contrast('a', counts(0, 50, 30, 60), thresholds),
    contrast('top', counts(0, 50, 60, 60), thresholds),
    contrast('no', counts(9, 9, 9, 9), thresholds),
  ];
  expect(rankKept(results)).toEqual(['top', 'a', 'b']);
});
