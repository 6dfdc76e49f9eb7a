import { Context } from '@temporalio/activity';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import type { EnvironmentInput } from '../../contracts/messages/sharpen-stage';
import { failure } from '../../contracts/typed-failure';
import { SandboxError, SandboxUnavailable } from '../../sandbox';
import { layout } from '../../store';
import { readSynthesisedEnvironment } from '../environment';
import { runModel } from '../endpoints/run-model';
import { isOutsideFault, killedFailure } from '../killed-environment';
import { EnvironmentUnusable, type EpisodePlan, runRollouts, samplingSeed } from '../rollout';
import type { RolloutDeps } from '../rollout/rollout-deps';
import type { FinishedRollouts } from '../rollout/run-rollouts';

/** The plan of one rollout of the base model on the task with this seed. */
export function syntheticPlan(prepared: PreparedSpec, runSeed: number, seed: number, trial: number): EpisodePlan {
  const { name: model } = prepared.spec.model;
  return { seed, split: 'synthetic', trial, model, samplingSeed: samplingSeed(runSeed, seed, trial) };
}

/** The rollouts to play, and their label for people. */
interface SyntheticRollouts {
  plans: readonly EpisodePlan[];
  /** Beginning of the work file's name: `calibrate`. Each kind of rollouts needs its own. */
  work: string;
  /** Label in front of the capability's id, for people. */
  note: string;
}

/**
 * Makes a function that plays the base model in a synthesised environment, sampled as in training. The source is read
 * once. Rollouts of an earlier attempt are in the work file and cost nothing. Throws the errors of `runRollouts`.
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
    });
}

/**
 * Returns if rollouts ended because the environment itself failed; otherwise throws.
 * @throws Sandbox.Unavailable; Environment.Killed; any other error unchanged.
 */
export function assertOwnFault(error: unknown): asserts error is EnvironmentUnusable | SandboxError {
  if (error instanceof SandboxUnavailable) throw failure('Sandbox.Unavailable', error.message, { cause: error });
  if (isOutsideFault(error)) throw killedFailure(error as Error, Context.current().info.attempt);
  if (!(error instanceof EnvironmentUnusable) && !(error instanceof SandboxError)) throw error;
}

/** The tokens of these rollouts. */
export const tokensOf = (trajectories: readonly Trajectory[]): { promptTokens: number; completionTokens: number } => ({
  promptTokens: trajectories.reduce((sum, { usage }) => sum + usage.promptTokens, 0),
  completionTokens: trajectories.reduce((sum, { usage }) => sum + usage.completionTokens, 0),
});
