import type { AgentSpec } from '../../../contracts/config/agent-spec';

/**
 * The requirements for keeping a capability. docs/explanations/identification.md lists where each threshold applies.
 */
export interface VerdictRule {
  /** Smallest gap, ER- minus ER+ in [0, 1], in a passing run. Paper, section 2: 0.20. */
  minGap: number;
  /** Smallest coverage, the share of all failures that lack the capability, in a passing run. Paper: 0.10. */
  minCoverage: number;
  /** Number of planned independent labelling runs. */
  runs: number;
  /** How many of these runs must pass both thresholds. */
  quorum: number;
  /** Highest chance that the contrast keeps any capability without a gap. */
  familywiseError: number;
}

/**
 * The rule of a spec. Without its own `quorum` it requires four fifths of the runs, rounded up. The arm `single-run`
 * has one run, whatever is planned.
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
