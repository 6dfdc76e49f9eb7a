import { startOf } from '../../contracts/clean-text';
import { pluralise } from '../../contracts/pluralise';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type RolloutSummary, type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import { failedText } from '../../contracts/failed-episodes';
import type { Repetition } from '../../contracts/messages/repair';
import type { RunContext } from '../../contracts/messages/run-context';
import { type ArtifactStore, collectedTraces, getLines, layout } from '../../store';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { failure } from '../../contracts/typed-failure';
import { readLiveTraffic, unreadableLines } from '../live-traffic';
import { readPreparedSpec } from '../prepared-spec';
import { runDeployedRollouts, samplingSeed, storeRollouts } from '../rollout';
import { collectConversations } from './conversations';

/** Most tasks with a failed episode that a summary names. */
const NAMED_TASKS = 3;
const taskSchema = trajectorySchema.pick({ task: true }).strip();

/**
 * Activity: runs the base agent on the train tasks and adds the live traffic that the gateway has written. Continues
 * where an earlier attempt stopped. Where nothing is played, it collects conversations alone.
 */
export async function collectTrajectories(
  deps: RolloutDeps,
  context: RunContext,
  repetition?: Repetition,
): Promise<RolloutSummary> {
  const { runId, agent, spec: specRef, seed } = context;
  const prepared = await readPreparedSpec(deps.store, specRef);
  if (!prepared.facts.playable) return collectConversations(deps.store, context, prepared, repetition);
  const { environment, model, collect, identify } = prepared.spec;
  const { start, count } = environment.trainSeeds;
  const plans = Array.from({ length: count * collect.trials }, (_, index) => {
    const taskSeed = start + Math.floor(index / collect.trials);
    const trial = index % collect.trials;
    return {
      seed: taskSeed,
      split: 'train' as const,
      trial,
      model: model.name,
      samplingSeed: samplingSeed(seed, taskSeed, trial),
    };
  });
  const rolledOut = await runDeployedRollouts(deps, prepared, {
    runId,
    plans,
    concurrency: collect.concurrency,
    workKey: layout.work(runId, 'collect'),
    stage: 'collect',
    ...(collect.tokens && { keepsTokens: true }),
  });
  const wanted = collectedTraces(collect.live, model.name);
  const read = await readLiveTraffic(deps.store, agent, wanted, { rollouts: plans.length, repetition });
  const live = read.trajectories;
  const stored = await storeRollouts(deps.store, rolledOut, {
    directory: layout.trajectories(runId),
    name: 'collected.jsonl',
    stage: 'collect',
    live,
  });
  const summary = {
    ...stored,
    ...(await firstFailed(deps.store, stored.failedTrajectories, prepared.tasks)),
    ...unreadableLines(read),
  };
  if (Math.min(summary.successes, summary.failures) < identify.minEachOutcome)
    throw tooFew(summary, live, identify.minEachOutcome, count, collect.trials);
  return summary;
}

/** The first tasks with a failed episode. @param tasks ids, at the places of their seeds. */
async function firstFailed(
  store: ArtifactStore,
  failed: ArtifactRef | undefined,
  tasks: readonly string[] = [],
): Promise<Pick<RolloutSummary, 'failedTasks'>> {
  if (failed === undefined) return {};
  const seeds = new Set((await getLines(store, failed, taskSchema)).map(({ task }) => task.seed));
  return { failedTasks: [...seeds].slice(0, NAMED_TASKS).map((seed) => startOf(tasks[seed] ?? String(seed), 100)) };
}

/**
 * The failure that states the number of collected rollouts, and about how many are needed. Live traffic counts as
 * collected, but more rollouts do not add more of it.
 */
function tooFew(
  { episodes, successes, failures, failed }: RolloutSummary,
  live: readonly Trajectory[],
  least: number,
  tasks: number,
  trials: number,
): Error {
  const conversations = live.length > 0 ? ` and ${live.length} conversations of live traffic` : '';
  const lost = failed ? `, and without a result ${failedText(failed)}` : '';
  const found =
    `${episodes - live.length} rollouts (${pluralise(tasks, 'task')} x ${pluralise(trials, 'trial')})${conversations} gave ` +
    `${successes} successes and ${failures} failures${lost}; contrasting them needs at least ${least} of each.`;
  const fewSuccesses = successes < failures;
  const what = fewSuccesses ? 'successes' : 'failures';
  const rareLive = live.filter(({ success }) => success === fewSuccesses).length;
  const rare = Math.min(successes, failures) - rareLive;
  const factor = (least * 1.2 - rareLive) / rare;
  const remedy =
    rare === 0
      ? `${live.length > 0 ? `Among the rollouts there are no ${what}` : `There are no ${what} at all`}: check ` +
        `that the environment's reward can come out both ways and that environment.successReward is right.`
      : `Raise environment.trainSeeds.count to about ${Math.ceil(tasks * factor)} or collect.trials to about ` +
        `${Math.ceil(trials * factor)}.`;
  return failure('Collect.TooFewToContrast', `${found} ${remedy}`);
}
