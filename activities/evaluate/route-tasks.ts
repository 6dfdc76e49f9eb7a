import { Context } from '@temporalio/activity';
import type { RoutingRecord } from '../../contracts/artifacts/evaluation';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { RoutingInput, RoutingResult } from '../../contracts/messages/evaluate-stage';
import { NONE_LABEL } from '../../contracts/names';
import { countCauses, failedText } from '../../contracts/failed-episodes';
import { failure } from '../../contracts/typed-failure';
import type { SeedRanges } from '../../contracts/messages/night-stage';
import { openRouter } from '../../routing/open-router';
import { openingText } from '../../routing/opening-text';
import { SandboxError } from '../../sandbox';
import { getJson, layout, putLines } from '../../store';
import { againIfTaskFailed, isTaskFailure, TASK_TRIES } from '../failed-task';
import { isProcessFault, mapAloneIfLost } from '../rollout/restarting-environment';
import { openOwnerEnvironment, ownerFailure, ownerTaskFailure, paidBy, readOwnerEnvironment } from '../environment';
import { readPreparedSpec } from '../prepared-spec';
import { Progress } from '../progress';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { askMenu } from './ask-menu';
import { expandSeedRanges } from './expand-seed-ranges';
import { routerSchema } from '../../routing/kinds';

/**
 * Activity: the arm that a router chooses for each task of `train` or, without `train`, for each held-out task. A task
 * whose opening failed `TASK_TRIES` times gets no arm.
 * @throws Environment.TasksFail if these are more than half.
 */
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
  const opened = await openingsOf(deps, prepared, { runId, tasks });
  const openings = new Map([...opened].flatMap(([seed, { text }]) => (text === null ? [] : [[seed, text] as const])));
  const answers = chooser.menu && (await askMenu(deps, { runId, prepared, capabilities: chooser.menu, openings }));
  const decisions = [...opened].map(([seed, { text: opening, failedBecause }]): RoutingRecord => {
    if (opening === null)
      return { seed, capabilityId: NONE_LABEL, probabilities: [], coveredMass: null, failedBecause };
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

/** A task's opening; null: its simulator or program failed in every try. */
type Opened = { text: string; failedBecause?: never } | { text: null; failedBecause: string };

/** The opening of each task. Throws the failure of the owner's environment. */
async function openingsOf(
  deps: RolloutDeps,
  prepared: PreparedSpec,
  { runId, tasks }: { runId: string; tasks: SeedRanges },
): Promise<Map<number, Opened>> {
  const seeds = expandSeedRanges(tasks);
  using progress = new Progress({ stage: 'evaluate', unit: 'openings', total: seeds.length });
  try {
    // A simulated user speaks in an opening.
    const payer = { store: deps.store, runId, budget: prepared.spec.budget, stage: 'evaluate' } as const;
    const source = paidBy(await readOwnerEnvironment(prepared), payer);
    const environment = await openOwnerEnvironment(deps.openEnvironment, source);
    try {
      const signal = Context.current().cancellationSignal;
      const openings = await mapAloneIfLost(seeds, prepared.spec.evaluation.concurrency, signal, async (seed) => {
        const opening = await openingOfTask(environment, seed);
        progress.advance();
        return opening;
      });
      const failed = openings.flatMap(({ failedBecause }) => failedBecause ?? []);
      if (failed.length > seeds.length / 2) throw openingsFail(seeds.length, failed);
      return new Map(seeds.map((seed, place) => [seed, openings[place]!]));
    } finally {
      await environment.close();
    }
  } catch (error) {
    throw error instanceof SandboxError ? ownerFailure(error) : error;
  }
}

const openingsFail = (tasks: number, failed: readonly string[]): Error =>
  failure(
    'Environment.TasksFail',
    `Of ${tasks} tasks that were opened, ${failedText(countCauses(failed))}, each after ${TASK_TRIES} tries.`,
  );

async function openingOfTask(
  environment: Awaited<ReturnType<RolloutDeps['openEnvironment']>>,
  seed: number,
): Promise<Opened> {
  let tries = 0;
  try {
    return await againIfTaskFailed(async () => {
      const episode = `route-${seed}${tries === 0 ? '' : `-${tries}`}`;
      tries++;
      const { messages } = await environment.reset(episode, seed);
      await environment.drop(episode);
      return { text: openingText(messages) };
    });
  } catch (error) {
    if (isTaskFailure(error)) return { text: null, failedBecause: error.taskCause ?? 'other' };
    // When the process ends, it is unknown which of its tasks caused the end. So no task is blamed.
    if (!(error instanceof SandboxError) || isProcessFault(error)) throw error;
    throw ownerTaskFailure(error, `task ${seed}`, Context.current().info.attempt);
  }
}
