import type { AgentSpec } from '../../../contracts/config/agent-spec';

/** What a capability must reach to be kept. docs/explanations/identification.md lists where each threshold applies. */
export interface VerdictRule {
  /** Least gap, ER- minus ER+ in [0, 1], in a run that passes. Paper, section 2: 0.20. */
  minGap: number;
  /** Least coverage, the share of all failures that lack the capability, in a run that passes. Paper: 0.10. */
  minCoverage: number;
  /** Independent labelling runs that are planned. */
  runs: number;
  /** How many of these runs have to pass both thresholds. */
  quorum: number;
  /** Highest chance that any capability without a gap is kept. */
  familywiseError: number;
}

/**
 * The rule of a spec. Without a `quorum` of its own it asks for four fifths of the runs, rounded up. The arm
 * `single-run` has one run, whatever is planned.
 */
export function verdictRule({
  runs: planned,
  quorum,
  minGap,
  minCoverage,
  familywiseError,
  arm,
}: AgentSpec['identify']): VerdictRule {
  const runs = arm === 'single-run' ? 1 : planned;
  return { runs, quorum: Math.min(runs, quorum ?? Math.ceil(0.8 * runs)), minGap, minCoverage, familywiseError };
}
