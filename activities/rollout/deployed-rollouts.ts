import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { runModel } from '../endpoints/run-model';
import { paidBy, type PaidSource, readOwnerEnvironment } from '../environment';
import { deployedSettings } from './episode';
import type { RolloutDeps } from './rollout-deps';
import { type FinishedRollouts, type RolloutOptions, runRollouts } from './run-rollouts';
import type { ScriptedModel } from './scripted-model';
import type { ServedAdapter } from './served-adapter';

/** `mayFail` of a set that may have the episodes of a few tasks only: one of these may fail always. */
export const FEW_EPISODES = 10;

/** A set of rollouts in the agent's own environment. */
export interface DeployedRollouts extends Pick<
  RolloutOptions,
  'plans' | 'concurrency' | 'workKey' | 'stage' | 'note' | 'mayFail' | 'keepsTokens'
> {
  /** The run that pays for simulated users and judges. */
  runId: string;
  /** Adapters that plans may name. Only adapters that a plan may need are loaded. Default: none. */
  adapters?: readonly ServedAdapter[];
}

/** Plays rollouts with the environment, model and settings of the deployed agent. Must run inside an activity. */
export async function runDeployedRollouts(
  deps: RolloutDeps,
  prepared: PreparedSpec,
  { runId, adapters = [], ...rollouts }: DeployedRollouts,
): Promise<FinishedRollouts> {
  const used = new Set(rollouts.plans.map(({ model }) => model));
  const anyMayBeUsed = rollouts.plans.some(({ modelAfter }) => modelAfter !== undefined);
  return runRollouts(deps, {
    ...rollouts,
    environment: await ownEnvironment(deps, prepared, { ...rollouts, runId }),
    settings: deployedSettings(prepared.spec),
    model: runModel(prepared, deps.endpoints),
    adapters: adapters.filter(({ name }) => anyMayBeUsed || used.has(name)),
  });
}

/** The same with a script in place of the model. @param maxTurns of an episode. */
export async function runScriptedRollouts(
  deps: RolloutDeps,
  prepared: PreparedSpec,
  { client, model }: ScriptedModel,
  { runId, maxTurns, ...rollouts }: Omit<DeployedRollouts, 'adapters'> & { maxTurns: number },
): Promise<FinishedRollouts> {
  return runRollouts(
    { ...deps, model: client },
    {
      ...rollouts,
      environment: await ownEnvironment(deps, prepared, { ...rollouts, runId }),
      settings: { ...deployedSettings(prepared.spec), maxTurns },
      model,
      adapters: [],
    },
  );
}

/** The agent's own environment, for which the run pays. */
async function ownEnvironment(
  { store }: RolloutDeps,
  prepared: PreparedSpec,
  { runId, stage }: Pick<DeployedRollouts, 'runId' | 'stage'>,
): Promise<PaidSource> {
  return paidBy(await readOwnerEnvironment(prepared), { store, runId, budget: prepared.spec.budget, stage });
}
