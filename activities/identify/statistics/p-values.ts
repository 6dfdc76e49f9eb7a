/** Bounds of a p-value that some runs have not yet contributed to. */
export interface PValueBounds {
  low: number;
  high: number;
}

/**
 * One p-value from those of `runs` labelling runs of the same trajectories, however dependent: runs / quorum times the
 * quorum-th smallest (Rüger 1978, Metrika 25:171-178; Vovk and Wang 2020, Biometrika 107:791-808). It is small exactly
 * when at least a quorum of the runs is. Runs not made yet could give anything, hence the bounds; they meet when all
 * are made.
 */
export function mergeRuns(made: readonly number[], runs: number, quorum: number): PValueBounds {
  const sorted = [...made].sort((a, b) => a - b);
  const left = runs - made.length;
  const merged = (p: number) => Math.min(1, (runs / quorum) * p);
  return {
    low: left >= quorum ? 0 : merged(sorted[quorum - left - 1] ?? 1),
    high: merged(sorted[quorum - 1] ?? 1),
  };
}

/**
 * The p-value of one of so many candidates (Bonferroni): the chance that any candidate without a gap falls below a
 * level stays below that level. Holm's procedure would be a little sharper, but its verdict on one candidate hangs on
 * the p-values of the others, and so on runs that need not be made for those.
 */
export function adjustForCandidates(pValue: number, candidates: number): number {
  return Math.min(1, pValue * candidates);
}
