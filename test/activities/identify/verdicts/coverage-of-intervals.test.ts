// tier: unit
import type { VerdictRule } from '../../../../activities/identify/verdicts/verdict-rule';
import { SETTINGS } from './draw-labels';
import { measureSetting, oughtToBeKept, QUANTITIES, type SettingResult } from './measure-verdicts';

// Labels are drawn from known rates at settings around the thresholds.
const rule: VerdictRule = { minGap: 0.2, minCoverage: 0.1, runs: 10, quorum: 8, familywiseError: 0.05 };
const design = { tasks: 150, trials: 2, runs: 10, failureRate: 0.5, taskShare: 0.3, noise: 0.1 };
const measure = (truth: (typeof SETTINGS)[number], seed: number) =>
  measureSetting(truth, { design, rule, candidates: 10, repetitions: 40, seed });

let results: SettingResult[];
beforeAll(() => {
  results = SETTINGS.map((truth, i) => measure(truth, 77 + i));
});
const rate = (some: readonly SettingResult[], count: (r: SettingResult) => number) =>
  some.reduce((sum, r) => sum + count(r), 0) / (some.length * 40);

test.each(QUANTITIES)('the 95 %% intervals of %s hold the truth in 93 to 97 %% of repetitions', (name) => {
  const share =
    results.reduce((sum, r) => sum + r.covered[name], 0) / results.reduce((sum, r) => sum + r.made[name], 0);
  expect(share).toBeGreaterThan(0.93);
  expect(share).toBeLessThan(0.97);
});

test('few capabilities below a threshold are kept, and few above both are rejected', () => {
  expect(SETTINGS.filter((truth) => oughtToBeKept(truth, rule))).toHaveLength(18);
  expect(
    rate(
      results.filter(({ truth }) => !oughtToBeKept(truth, rule)),
      (r) => r.verdicts.kept,
    ),
  ).toBeLessThan(0.05);
  expect(
    rate(
      results.filter(({ truth }) => oughtToBeKept(truth, rule)),
      (r) => r.verdicts.rejected,
    ),
  ).toBeLessThan(0.05);
});

test('without a gap hardly anything is kept', () => {
  const nothing = measure({ errorRateSuccess: 0.3, errorRateFailure: 0.3, coverage: 0.14 }, 5);
  expect(nothing.verdicts.kept).toBe(0);
});

test('verdicts are final before all runs are made, most of the time', () => {
  expect(rate(results, (r) => r.runsMade)).toBeLessThan(9);
});
