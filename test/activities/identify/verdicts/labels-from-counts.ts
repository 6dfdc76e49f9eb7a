import type { TrajectoryOutcomes } from '../../../../activities/identify/verdicts/task-sums';
import { LABEL_CODES } from '../../../../activities/identify/verdicts/label-codes';

/** Labels of one capability, counted. */
export interface LabelCounts {
  successLacking: number;
  successApplicable: number;
  failureLacking: number;
  failureApplicable: number;
}

/** So many failures, then so many successes; `trials` neighbours share a task. */
export function outcomesFrom(failures: number, successes: number, trials = 1): TrajectoryOutcomes {
  const n = failures + successes;
  return {
    success: Uint8Array.from({ length: n }, (_, i) => (i < failures ? 0 : 1)),
    task: Uint32Array.from({ length: n }, (_, i) => Math.floor(i / trials)),
    tasks: Math.ceil(n / trials),
  };
}

/** One run's labels with these counts: LACKING first, then PRESENT, then NA, among failures and among successes. */
export function labelsFrom({ success }: TrajectoryOutcomes, counts: LabelCounts): Uint8Array {
  const failures = success.indexOf(1) < 0 ? success.length : success.indexOf(1);
  return Uint8Array.from(success, (won, i) => {
    const place = won ? i - failures : i;
    const [lacking, applicable] = won
      ? [counts.successLacking, counts.successApplicable]
      : [counts.failureLacking, counts.failureApplicable];
    return place < lacking ? LABEL_CODES.LACKING : place < applicable ? LABEL_CODES.PRESENT : LABEL_CODES.NA;
  });
}
