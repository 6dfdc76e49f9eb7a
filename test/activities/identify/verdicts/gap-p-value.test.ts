// tier: unit
import { gapPValue } from '../../../../activities/identify/verdicts/gap-p-value';
import { taskSums } from '../../../../activities/identify/verdicts/task-sums';
import { randomSource } from '../../../../activities/statistics/random';
import { drawLabels } from './draw-labels';
import { sumsOf } from './sums-of';

test('with nothing to compare the p-value is 1', () => {
  const sums = sumsOf({ failureLacking: 3, failureApplicable: 9, failures: 20 });
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
