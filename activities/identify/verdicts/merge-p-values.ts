/** Smallest and largest possible p-value after the remaining labelling runs. */
interface PValueBounds {
  low: number;
  high: number;
}

/**
 * Merges the p-values of `runs` labelling runs of the same trajectories into one: the quorum-th smallest, times runs /
 * quorum. It holds for any dependence between the runs (Rüger 1978, Metrika 25:171-178; Vovk and Wang 2020, Biometrika
 * 107:791-808). It is small exactly when at least a quorum of the p-values is small. `made` has the p-values of the
 * runs so far. The others could still take any value, so the result has bounds, which are equal once all runs are made.
 */
export function mergeRunPValues(made: readonly number[], runs: number, quorum: number): PValueBounds {
  const sorted = [...made].sort((a, b) => a - b);
  const left = runs - made.length;
  const merged = (p: number) => Math.min(1, (runs / quorum) * p);
  return {
    low: left >= quorum ? 0 : merged(sorted[quorum - left - 1] ?? 1),
    high: merged(sorted[quorum - 1] ?? 1),
  };
}

/**
 * The p-value of one candidate, adjusted for the number of candidates (Bonferroni). The chance that the adjusted
 * p-value of any candidate without a gap falls below a level is at most that level. Holm's procedure would have a
 * little more power. But with it, the verdict on one candidate depends on the other candidates' p-values. Those
 * candidates would then be labelled again although their own verdicts are certain.
 */
export function bonferroni(pValue: number, candidates: number): number {
  return Math.min(1, pValue * candidates);
}
