import { clusteredVariance, moderated } from '../../statistics/intervals';
import type { TaskSums } from './label-table';
import { studentTail } from '../../statistics/student';

/**
 * One-sided p-value of "failures lack it no more often than successes" in one run: score test of two shares at their
 * common value, with the variance found between tasks (generalised score test for clustered data: Boos 1992, The
 * American Statistician 46:327-333), moderated as the intervals are. 1 when there is nothing to compare.
 */
export function gapPValue(sums: TaskSums, run: number): number {
  const { tasks } = sums;
  const at = run * tasks;
  let [fl, fa, sl, sa] = [0, 0, 0, 0];
  for (let t = at; t < at + tasks; t++) {
    fl += sums.failureLacking[t]!;
    fa += sums.failureApplicable[t]!;
    sl += sums.successLacking[t]!;
    sa += sums.successApplicable[t]!;
  }
  if (fa === 0 || sa === 0) return 1;
  const common = (fl + sl) / (fa + sa);
  if (common === 0 || common === 1) return 1;
  const score = new Float64Array(tasks);
  let clusters = 0;
  for (let t = 0; t < tasks; t++) {
    const [f, s] = [sums.failureApplicable[at + t]!, sums.successApplicable[at + t]!];
    if (f + s > 0) clusters++;
    score[t] = (sums.failureLacking[at + t]! - common * f) / fa - (sums.successLacking[at + t]! - common * s) / sa;
  }
  const { variance, df } = moderated(
    clusteredVariance(score, clusters),
    common * (1 - common) * (1 / fa + 1 / sa),
    clusters,
  );
  return studentTail((fl / fa - sl / sa) / Math.sqrt(variance), df);
}
