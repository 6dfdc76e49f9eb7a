import { clusteredVariance, moderatedVariance } from '../../statistics/intervals';
import { studentTail } from '../../statistics/student';
import { runTotals, type TaskSums } from './task-sums';

/**
 * Significance of the gap in one labelling run: the one-sided p-value of "failures lack the capability no more often
 * than successes". It does not use the gap threshold `minGap`.
 *
 * A score test of two shares at their common value, with the variance between tasks (generalised score test for
 * clustered data: Boos 1992, The American Statistician 46:327-333), moderated as in the intervals. The result is 1 if
 * there is nothing to compare.
 */
export function gapPValue(sums: TaskSums, run: number): number {
  const { tasks } = sums;
  const at = run * tasks;
  const totals = runTotals(sums, run);
  const failure = { lacking: totals.failureLacking, applicable: totals.failureApplicable };
  const success = { lacking: totals.successLacking, applicable: totals.successApplicable };
  if (failure.applicable === 0 || success.applicable === 0) return 1;
  const common = (failure.lacking + success.lacking) / (failure.applicable + success.applicable);
  if (common === 0 || common === 1) return 1;
  const score = new Float64Array(tasks);
  let clusters = 0;
  for (let t = 0; t < tasks; t++) {
    const [f, s] = [sums.failureApplicable[at + t]!, sums.successApplicable[at + t]!];
    if (f + s > 0) clusters++;
    score[t] =
      (sums.failureLacking[at + t]! - common * f) / failure.applicable -
      (sums.successLacking[at + t]! - common * s) / success.applicable;
  }
  const { variance, df } = moderatedVariance(
    clusteredVariance(score, clusters),
    common * (1 - common) * (1 / failure.applicable + 1 / success.applicable),
    clusters,
  );
  const gap = failure.lacking / failure.applicable - success.lacking / success.applicable;
  return studentTail(gap / Math.sqrt(variance), df);
}
