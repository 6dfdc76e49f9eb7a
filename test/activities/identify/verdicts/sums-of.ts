import type { TaskSums } from '../../../../activities/identify/verdicts/task-sums';

/** Counts over tasks with one trial each, as one labelling run has them. */
export interface SimpleCounts {
  successLacking?: number;
  successApplicable?: number;
  failureLacking?: number;
  failureApplicable?: number;
  failures?: number;
}

/**
 * Sums of one run in which every trajectory is a task of its own: failures first, then the successes that call for the
 * capability.
 */
export function sumsOf({
  successLacking = 0,
  successApplicable = 0,
  failureLacking = 0,
  failureApplicable = 0,
  failures = failureApplicable,
}: SimpleCounts): TaskSums {
  const tasks = failures + successApplicable;
  const cells = (from: number, count: number) =>
    Float64Array.from({ length: tasks }, (_, t) => (t >= from && t < from + count ? 1 : 0));
  return {
    tasks,
    runs: 1,
    failures: cells(0, failures),
    failureLacking: cells(0, failureLacking),
    failureApplicable: cells(0, failureApplicable),
    successLacking: cells(failures, successLacking),
    successApplicable: cells(failures, successApplicable),
  };
}
