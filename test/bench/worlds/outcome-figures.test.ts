// tier: unit
import { mean } from '../../../activities/statistics/mean';
import { randomSource } from '../../../activities/statistics/random';
import {
  ceilingOf,
  crossFittedOracle,
  meanOverTasks,
  type OutcomeTable,
  ratesOf,
  shareOfOracle,
} from '../../../bench/worlds/outcome-figures';

/** A table of arms with these chances on tasks of each group, 40 tasks a group. */
function tableOf(chances: Record<string, Record<string, number>>, trials = 8, seed = 1): OutcomeTable {
  const random = randomSource(seed);
  const groups = Object.keys(chances).flatMap((group) => Array.from({ length: 40 }, () => group));
  const arms = Object.keys(Object.values(chances)[0]!);
  return {
    seeds: groups.map((_, task) => 1_000_000 + task),
    groups,
    arms,
    trials,
    passes: arms.map((arm) =>
      groups.map((group) => Array.from({ length: trials }, () => (random.uniform() < chances[group]![arm]! ? 1 : 0))),
    ),
  };
}

test('arms that are alike give the oracle no gain, although luck alone gives the ceiling much', () => {
  const gains = Array.from({ length: 20 }, (_, seed) => {
    const table = tableOf({ all: { none: 0.5, a: 0.5, b: 0.5, c: 0.5 } }, 8, seed);
    return mean(crossFittedOracle(table)) - mean(ratesOf(table, () => 'none'));
  });
  expect(Math.abs(mean(gains))).toBeLessThan(0.02);
  const table = tableOf({ all: { none: 0.5, a: 0.5, b: 0.5, c: 0.5 } });
  expect(mean(ceilingOf(table))).toBeGreaterThan(0.6);
});

test('where each group has an arm of its own, the oracle finds it', () => {
  const table = tableOf({
    x: { none: 0.3, a: 0.9, b: 0.2 },
    y: { none: 0.3, a: 0.1, b: 0.9 },
    z: { none: 0.8, a: 0.2, b: 0.2 },
  });
  const oracle = mean(crossFittedOracle(table));
  expect(oracle).toBeGreaterThan(0.84);
  expect(oracle).toBeLessThan(0.9);
});

test('an arm that is left out of the question is not chosen', () => {
  const table = tableOf({ x: { none: 0.3, mixed: 0.9 } });
  expect(crossFittedOracle(table, ['none'])).toEqual(ratesOf(table, () => 'none'));
});

test('the share of the gain is 1 for the oracle itself and 0 for base, and its interval holds it', () => {
  const oracle = [1, 0.5, 0.25, 0.75, 0.5];
  expect(shareOfOracle({ own: oracle, oracle }, 1)).toEqual({ estimate: 1, low: 1, high: 1 });
  expect(shareOfOracle({ own: oracle.map(() => 0), oracle }, 1)).toEqual({ estimate: 0, low: 0, high: 0 });
  const half = shareOfOracle({ own: [1, 0, 0.25, 0, 0.25], oracle }, 1);
  expect(half.estimate).toBeCloseTo(0.5);
  expect(half.low).toBeLessThan(0.5);
  expect(half.high).toBeGreaterThan(0.5);
});

test('an interval lies around its mean, and the same seed gives it again', () => {
  const values = [0, 1, 1, 0, 1, 1, 1, 0];
  const interval = meanOverTasks(values, 3);
  expect(interval).toEqual(meanOverTasks(values, 3));
  expect(interval.low).toBeLessThan(interval.estimate);
  expect(interval.high).toBeGreaterThan(interval.estimate);
});

test('an arm without outcomes is an error, not a rate', () => {
  const table = tableOf({ x: { none: 0.3, a: 0.9 } });
  expect(() => ratesOf(table, () => 'b')).toThrow(/"b"/);
});
