import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { Rule } from './statistics/verdict';

/** The rule by which the spec's runs become verdicts. The arm `single-run` needs no more than one run. */
export function identifyRule({
  runs: planned,
  quorum,
  minGap,
  minCoverage,
  familywiseError,
  arm,
}: AgentSpec['identify']): Rule {
  const runs = arm === 'single-run' ? 1 : planned;
  return { runs, quorum: Math.min(runs, quorum ?? Math.ceil(0.8 * runs)), minGap, minCoverage, familywiseError };
}
