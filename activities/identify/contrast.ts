import type { Contrast, Label } from '../../contracts';

/** Thresholds of the paper, section 2. */
export interface Thresholds {
  minGap: number;
  minCoverage: number;
}

/** Labels of one capability, counted. */
export type Counts = Contrast['counts'];

/** Normal quantile of a two-sided 95 % interval. */
const Z95 = 1.959963984540054;

/** Counts before any label; `failures` are all failed trajectories, labelled or not. */
export function noCounts(failures: number): Counts {
  return { successLacking: 0, successApplicable: 0, failureLacking: 0, failureApplicable: 0, failures, unlabelled: 0 };
}

/** The counts with one more label; null counts as unlabelled and as nothing else. */
export function countLabel(counts: Counts, success: boolean, label: Label | null): Counts {
  if (label === null) return { ...counts, unlabelled: counts.unlabelled + 1 };
  if (label === 'NA') return counts;
  const lacking = label === 'LACKING' ? 1 : 0;
  return success
    ? { ...counts, successApplicable: counts.successApplicable + 1, successLacking: counts.successLacking + lacking }
    : { ...counts, failureApplicable: counts.failureApplicable + 1, failureLacking: counts.failureLacking + lacking };
}

/** Error rates, gap with its 95 % interval, coverage and the decision for one capability. */
export function contrast(capabilityId: string, counts: Counts, thresholds: Thresholds): Contrast {
  const errorRateSuccess = counts.successApplicable > 0 ? counts.successLacking / counts.successApplicable : null;
  const errorRateFailure = counts.failureApplicable > 0 ? counts.failureLacking / counts.failureApplicable : null;
  const gap = errorRateSuccess === null || errorRateFailure === null ? null : errorRateFailure - errorRateSuccess;
  const interval = gap === null ? null : differenceInterval(counts.failureLacking, counts.failureApplicable, counts.successLacking, counts.successApplicable);
  const coverage = counts.failures > 0 ? counts.failureLacking / counts.failures : 0;
  const missed = missedThresholds(errorRateSuccess, errorRateFailure, gap, coverage, thresholds);
  const numbers = `failures lack it ${percent(errorRateFailure)}, successes ${percent(errorRateSuccess)}, and ${percent(coverage)} of all failures lack it`;
  return {
    capabilityId,
    errorRateSuccess,
    errorRateFailure,
    gap,
    gapLow: interval?.low ?? null,
    gapHigh: interval?.high ?? null,
    coverage,
    counts,
    kept: missed.length === 0,
    reason: missed.length === 0 ? `Kept: where it is called for, ${numbers}.` : `Dropped: ${missed.join(' and ')}.`,
  };
}

/** Ids of the kept capabilities, largest gap times coverage first; ties by id. */
export function rankKept(contrasts: readonly Contrast[]): string[] {
  const weight = (c: Contrast) => (c.gap ?? 0) * c.coverage;
  return contrasts
    .filter((c) => c.kept)
    .sort((a, b) => weight(b) - weight(a) || (a.capabilityId < b.capabilityId ? -1 : 1))
    .map((c) => c.capabilityId);
}

/**
 * 95 % interval of the difference of two independent proportions a/m - b/n: Newcombe's hybrid score interval without continuity
 * correction (R. G. Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10). It takes trials of one task for independent.
 */
export function differenceInterval(a: number, m: number, b: number, n: number): { low: number; high: number } {
  const first = wilson(a, m);
  const second = wilson(b, n);
  const difference = a / m - b / n;
  return {
    low: difference - Math.hypot(a / m - first.low, second.high - b / n),
    high: difference + Math.hypot(first.high - a / m, b / n - second.low),
  };
}

/** Wilson's 95 % score interval of the proportion x/n, n > 0. */
export function wilson(x: number, n: number): { low: number; high: number } {
  const z2 = Z95 * Z95;
  const centre = (x + z2 / 2) / (n + z2);
  const half = (Z95 / (n + z2)) * Math.sqrt((x * (n - x)) / n + z2 / 4);
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

function missedThresholds(success: number | null, failed: number | null, gap: number | null, coverage: number, { minGap, minCoverage }: Thresholds): string[] {
  const missed: string[] = [];
  if (success === null && failed === null) return ['no episode called for it'];
  if (success === null) missed.push('no success called for it, so there is nothing to contrast with');
  else if (failed === null) missed.push('no failure called for it');
  else if (gap !== null && gap < minGap)
    missed.push(`failures lack it ${percent(failed)} and successes ${percent(success)}: the gap of ${points(gap)} points is below ${points(minGap)}`);
  if (failed !== null && coverage < minCoverage) missed.push(`${percent(coverage)} of all failures lack it, which is below ${percent(minCoverage)}`);
  return missed;
}

function percent(share: number | null): string {
  return share === null ? 'never' : `${(100 * share).toFixed(1)} %`;
}

function points(share: number): string {
  return (100 * share).toFixed(1);
}
