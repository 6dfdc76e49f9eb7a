import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { runModel } from '../endpoints/run-model';
import { readOwnerEnvironment } from '../environment';
import { deployedSettings } from './episode';
import type { RolloutDeps } from './rollout-deps';
import { type FinishedRollouts, type RolloutOptions, runRollouts } from './run-rollouts';
import type { ServedAdapter } from './served-adapter';

/** A set of rollouts in the agent's own environment. */
export interface DeployedRollouts extends Pick<RolloutOptions, 'plans' | 'concurrency' | 'workKey' | 'stage' | 'note'> {
  /** Adapters that plans may name. Only adapters that a plan may need are loaded. Default: none. */
  adapters?: readonly ServedAdapter[];
}

/** Plays rollouts with the environment, model and settings of the deployed agent. Must run inside an activity. */
export async function runDeployedRollouts(
  deps: RolloutDeps,
  prepared: PreparedSpec,
  { adapters = [], ...rollouts }: DeployedRollouts,
): Promise<FinishedRollouts> {
  const used = new Set(rollouts.plans.map(({ model }) => model));
  const anyMayBeUsed = rollouts.plans.some(({ modelAfter }) => modelAfter !== undefined);
  return runRollouts(deps, {
    ...rollouts,
    environment: await readOwnerEnvironment(prepared),
    settings: deployedSettings(prepared.spec),
    model: runModel(prepared, deps.endpoints),
    adapters: adapters.filter(({ name }) => anyMayBeUsed || used.has(name)),
  });
}
