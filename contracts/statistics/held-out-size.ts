import type { AgentSpec } from '../config/agent-spec';

/** How large the evaluation of a run is, by its agent.yaml alone. */
export interface HeldOutSize {
  /** Held-out tasks that a run judges on. */
  tasks: number;
  /** The least trials of each task by each arm. */
  leastTrials: number;
  /** The most trials that the plan may choose. */
  mostTrials: number;
}

/** The evaluation's size. The number of trials is in between: the plan fixes it, once base was seen. */
export function heldOutSize({ environment, evaluation }: Pick<AgentSpec, 'environment' | 'evaluation'>): HeldOutSize {
  const { trials, maxTrials = 2 * trials, detectableGain, heldOutTasks = environment.heldOutSeeds.count } = evaluation;
  return {
    tasks: Math.min(heldOutTasks, environment.heldOutSeeds.count),
    leastTrials: trials,
    mostTrials: detectableGain === undefined ? trials : maxTrials,
  };
}
