import type { AgentSpec } from '../config/agent-spec';

/** How large the evaluation of a run is, by its agent.yaml alone. */
export interface HeldOutSize {
  /** Held-out tasks that a run judges on. */
  tasks: number;
  /** Trials of each task by each arm, in any case. */
  leastTrials: number;
  /** The most that the plan may add to. */
  mostTrials: number;
}

/** The evaluation's size. The trials lie in between: the plan says how many, once base was seen. */
export function heldOutSize({ environment, evaluation }: Pick<AgentSpec, 'environment' | 'evaluation'>): HeldOutSize {
  const { trials, maxTrials = 2 * trials, detectableGain, heldOutTasks = environment.heldOutSeeds.count } = evaluation;
  return {
    tasks: Math.min(heldOutTasks, environment.heldOutSeeds.count),
    leastTrials: trials,
    mostTrials: detectableGain === undefined ? trials : maxTrials,
  };
}
