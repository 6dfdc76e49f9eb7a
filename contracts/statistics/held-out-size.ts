import type { AgentSpec } from '../config/agent-spec';

/** The size of a run's evaluation, derived from its agent.yaml alone. */
export interface HeldOutSize {
  /** Number of held-out tasks that a run is judged on. */
  tasks: number;
  /** The least trials of each task by each arm. */
  leastTrials: number;
  /** The most trials that the plan may choose. */
  mostTrials: number;
}

/** The evaluation's size. The plan fixes the number of trials within these limits, once base has played. */
export function heldOutSize({ environment, evaluation }: Pick<AgentSpec, 'environment' | 'evaluation'>): HeldOutSize {
  const { trials, maxTrials = 2 * trials, detectableGain, heldOutTasks = environment.heldOutSeeds.count } = evaluation;
  return {
    tasks: Math.min(heldOutTasks, environment.heldOutSeeds.count),
    leastTrials: trials,
    mostTrials: detectableGain === undefined ? trials : maxTrials,
  };
}
