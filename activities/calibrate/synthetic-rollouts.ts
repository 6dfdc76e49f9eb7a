import { Context } from '@temporalio/activity';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { EnvironmentInput } from '../../contracts/messages/sharpen-stage';
import { layout } from '../../store';
import { readSynthesisedEnvironment } from '../environment';
import { runModel } from '../endpoints/run-model';
import { type EpisodePlan, runRollouts, samplingSeed } from '../rollout';
import type { RolloutDeps } from '../rollout/rollout-deps';
import type { FinishedRollouts } from '../rollout/run-rollouts';

/** The plan of one rollout of the base model on the task with this seed. */
export function syntheticPlan(prepared: PreparedSpec, runSeed: number, seed: number, trial: number): EpisodePlan {
  const { name: model } = prepared.spec.model;
  return { seed, split: 'synthetic', trial, model, samplingSeed: samplingSeed(runSeed, seed, trial) };
}

/** What to roll out, and how it is shown. */
interface SyntheticRollouts {
  plans: readonly EpisodePlan[];
  /** Beginning of the work file's name: `calibrate`. Each kind of rollouts needs its own. */
  work: string;
  /** Before the capability's id, for people. */
  note: string;
}

/**
 * Makes the function that rolls the base model out in a synthesised environment, sampled as in training. The source is
 * read once. Rollouts of an earlier attempt lie in the work file and cost nothing. Throws what `runRollouts` throws.
 */
export async function syntheticRollouts(
  deps: RolloutDeps,
  { context, capability, source }: EnvironmentInput,
  prepared: PreparedSpec,
): Promise<(rollouts: SyntheticRollouts) => Promise<FinishedRollouts>> {
  const { training, environment, collect } = prepared.spec;
  const opened = await readSynthesisedEnvironment(deps.store, source, capability.id);
  return ({ plans, work, note }) =>
    runRollouts(deps, {
      plans,
      environment: opened,
      settings: {
        temperature: training.temperature,
        maxTurns: environment.maxTurns,
        maxCompletionTokens: training.maxCompletionTokens,
        successReward: environment.successReward,
      },
      model: runModel(prepared, deps.endpoints),
      adapters: [],
      concurrency: collect.concurrency,
      workKey: layout.work(context.runId, `${work}-${capability.id}-${source.sha256.slice(0, 12)}`),
      stage: 'sharpen',
      note: `${note} ${capability.id}`,
      signal: Context.current().cancellationSignal,
    });
}
