import { Context } from '@temporalio/activity';
import type { EnvironmentInput, RefusedRollouts } from '../../contracts/messages/sharpen-stage';
import { layout } from '../../store';
import { readPreparedSpec } from '../prepared-spec';
import { EnvironmentUnusable, loadRollouts, type RolloutResults } from '../rollout';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { calibrationSeeds } from './seed-ranges';
import { keepShown, SHOWN_ROLLOUTS } from './shown-rollouts';
import { assertOwnFault, syntheticPlan, syntheticRollouts, tokensOf } from './synthetic-rollouts';

/**
 * Makes the activity `rollOutRefused`. It plays one rollout of the base model on each of a few tasks in an environment
 * that failed its checks. The analyst then sees how the agent plays them. If the environment fails here, there is
 * nothing to show, but the activity succeeds.
 * @throws Sandbox.Unavailable; Environment.Killed; `Model.*`.
 */
export async function rollOutRefused(deps: RolloutDeps, input: EnvironmentInput): Promise<RefusedRollouts> {
  const { context, capability, source } = input;
  const prepared = await readPreparedSpec(deps.store, context.spec);
  const seeds = calibrationSeeds(SHOWN_ROLLOUTS, source.sha256);
  const plans = seeds.map((seed) => syntheticPlan(prepared, context.seed, seed, 0));
  let results: RolloutResults;
  try {
    const roll = await syntheticRollouts(deps, input, prepared);
    results = await loadRollouts(await roll({ plans, work: 'refused', note: 'plays a few tasks of' }));
  } catch (error) {
    Context.current().cancellationSignal.throwIfAborted();
    assertOwnFault(error);
    results = error instanceof EnvironmentUnusable ? error.finished : { trajectories: [], seconds: 0, faults: [] };
  }
  const { trajectories } = results;
  return {
    rollouts: await keepShown(deps.store, layout.environments(context.runId, capability.id), trajectories),
    ...tokensOf(trajectories),
  };
}
