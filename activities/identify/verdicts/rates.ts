import type { ClusteredShare } from '../../statistics/intervals';
import { runTotals, type TaskSums } from './task-sums';

/** Rates of a capability in one labelling run (paper, section 2). Shares in [0, 1]; null if the denominator is zero. */
export interface Rates {
  /** ER+: share LACKING among successes where the capability is not NA. */
  errorRateSuccess: number | null;
  /** ER-: share LACKING among failures where the capability is not NA. */
  errorRateFailure: number | null;
  /** errorRateFailure - errorRateSuccess. */
  gap: number | null;
  /** Share of all failures in which it is LACKING; 0 without failures. */
  coverage: number;
}

/** Rates of one labelling run. */
export function runRates(sums: TaskSums, run: number): Rates {
  const { successLacking, successApplicable, failureLacking, failureApplicable, failures } = runTotals(sums, run);
  const share = (part: number, whole: number) => (whole > 0 ? part / whole : null);
  const errorRateSuccess = share(successLacking, successApplicable);
  const errorRateFailure = share(failureLacking, failureApplicable);
  return {
    errorRateSuccess,
    errorRateFailure,
    gap: errorRateSuccess === null || errorRateFailure === null ? null : errorRateFailure - errorRateSuccess,
    coverage: share(failureLacking, failures) ?? 0,
  };
}

/** Names of the shares of a capability. */
export type ShareName = 'errorRateFailure' | 'errorRateSuccess' | 'coverage';

/**
 * A share of a capability, averaged over labelling runs `from` (inclusive) to `to` (exclusive); default: all. Runs with
 * a zero denominator are left out.
 */
export function clusteredShare(sums: TaskSums, name: ShareName, from = 0, to = sums.runs): ClusteredShare {
  const { tasks } = sums;
  const parts = name === 'errorRateSuccess' ? sums.successLacking : sums.failureLacking;
  const wholes =
    name === 'coverage' ? null : name === 'errorRateSuccess' ? sums.successApplicable : sums.failureApplicable;
  const influence = new Float64Array(tasks);
  const sizes = new Float64Array(tasks);
  let sum = 0;
  let used = 0;
  for (let run = from; run < to; run++) {
    const offset = run * tasks;
    const whole = (t: number) => (wholes === null ? sums.failures[t]! : wholes[offset + t]!);
    let part = 0;
    let total = 0;
    for (let t = 0; t < tasks; t++) {
      part += parts[offset + t]!;
      total += whole(t);
    }
    if (total === 0) continue;
    const share = part / total;
    for (let t = 0; t < tasks; t++) {
      influence[t]! += (parts[offset + t]! - share * whole(t)) / total;
      sizes[t]! += whole(t);
    }
    sum += share;
    used++;
  }
  let size = 0;
  let squares = 0;
  let clusters = 0;
  for (let t = 0; t < tasks; t++) {
    if (used > 0) {
      influence[t]! /= used;
      sizes[t]! /= used;
    }
    size += sizes[t]!;
    squares += sizes[t]! ** 2;
    if (sizes[t]! > 0) clusters++;
  }
  return {
    estimate: used === 0 ? null : sum / used,
    influence,
    size,
    clusters,
    kish: squares === 0 ? 0 : size ** 2 / squares,
  };
}
