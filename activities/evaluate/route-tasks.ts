import { Context } from '@temporalio/activity';
import type { RoutingRecord } from '../../contracts/artifacts/evaluation';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { RoutingInput, RoutingResult } from '../../contracts/messages/evaluate-stage';
import type { SeedRanges } from '../../contracts/messages/night-stage';
import { openRouter } from '../../routing/open-router';
import { openingText } from '../../routing/opening-text';
import { SandboxError } from '../../sandbox';
import { getJson, layout, putLines } from '../../store';
import { isProcessFault } from '../rollout/restarting-environment';
import { openOwnerEnvironment, ownerFailure, ownerTaskFailure, readOwnerEnvironment } from '../environment';
import { mapInParallel } from '../in-parallel';
import { readPreparedSpec } from '../prepared-spec';
import { Progress } from '../progress';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { askMenu } from './ask-menu';
import { expandSeedRanges } from './expand-seed-ranges';
import { routerSchema } from '../../routing/kinds';

/** Activity: the arm that a router chooses for each task of `train` or, without `train`, for each held-out task. */
export async function routeTasks(
  deps: RolloutDeps,
  { context: { runId, spec }, capabilities, router, name, heldOut, train }: RoutingInput,
): Promise<RoutingResult> {
  const { store } = deps;
  const prepared = await readPreparedSpec(store, spec);
  const chooser = openRouter(
    await getJson(store, router, routerSchema),
    capabilities.map(({ id }) => id),
  );
  const tasks = train ?? heldOut?.seeds ?? [prepared.spec.environment.heldOutSeeds];
  const openings = await openingsOf(deps, prepared, tasks);
  const answers = chooser.menu && (await askMenu(deps, { runId, prepared, capabilities: chooser.menu, openings }));
  const decisions = [...openings].map(([seed, opening]): RoutingRecord => {
    const answer = answers?.get(seed) ?? null;
    const { capabilityId, probability } = chooser.choose(opening, answer);
    const { probabilities, coveredMass } = answer ?? { probabilities: [probability], coveredMass: null };
    return { seed, capabilityId, probabilities, coveredMass };
  });
  return {
    routing: await putLines(store, layout.evaluation(runId), `${name}.jsonl`, decisions),
    tasks: decisions.length,
  };
}

/** The opening of each task. Throws the failure of the owner's environment. */
async function openingsOf(deps: RolloutDeps, prepared: PreparedSpec, ranges: SeedRanges): Promise<Map<number, string>> {
  const seeds = expandSeedRanges(ranges);
  using progress = new Progress({ stage: 'evaluate', unit: 'openings', total: seeds.length });
  try {
    const environment = await openOwnerEnvironment(deps.openEnvironment, await readOwnerEnvironment(prepared));
    try {
      const signal = Context.current().cancellationSignal;
      const openings = await mapInParallel(seeds, prepared.spec.evaluation.concurrency, signal, async (seed) => {
        const opening = await openingOfTask(environment, seed);
        progress.advance();
        return opening;
      });
      return new Map(seeds.map((seed, place) => [seed, openings[place]!]));
    } finally {
      await environment.close();
    }
  } catch (error) {
    throw error instanceof SandboxError ? ownerFailure(error) : error;
  }
}

async function openingOfTask(
  environment: Awaited<ReturnType<RolloutDeps['openEnvironment']>>,
  seed: number,
): Promise<string> {
  const episode = `route-${seed}`;
  try {
    const { messages } = await environment.reset(episode, seed);
    await environment.drop(episode);
    return openingText(messages);
  } catch (error) {
    // When the process ends, all its tasks fail, and the task that caused the end is unknown. So no task is blamed.
    if (!(error instanceof SandboxError) || isProcessFault(error)) throw error;
    throw ownerTaskFailure(error, `task ${seed}`, Context.current().info.attempt);
  }
}
