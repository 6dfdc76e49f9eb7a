import { createHash } from 'node:crypto';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import type { RunContext } from '../../../contracts/messages/run-context';
import { type FailedByCause, sumFailed } from '../../../contracts/failed-episodes';
import { NONE_LABEL } from '../../../contracts/names';
import { layout } from '../../../store';
import { type EpisodePlan, FEW_EPISODES, runDeployedRollouts, samplingSeed } from '../../rollout';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import { servedAdapters } from '../../rollout/served-adapter';
import { modelForLaterTurns } from '../model-for-later-turns';
import type { Players, Switching } from './state';

/** Number of trials of an arm on a task. The outcome of one trial says too little (DARS, arXiv 2606.06924). */
export const ARM_TRIALS = 2;

/** The run whose arms are played. */
interface PlayedRun {
  context: RunContext;
  prepared: PreparedSpec;
  adapters: readonly TrainedAdapter[];
}

/**
 * Plays train tasks on the run's model server. Each call keeps its rollouts in its own work file. `failed` counts the
 * rollouts without a result so far.
 */
export function playersOf(
  deps: RolloutDeps,
  { context, prepared, adapters }: PlayedRun,
): Players & { failed: () => FailedByCause } {
  const lost: FailedByCause[] = [];
  const names = new Map([
    [NONE_LABEL, prepared.spec.model.name],
    ...adapters.map(({ capabilityId, name }): [string, string] => [capabilityId, name]),
  ]);
  /**
   * The trials of one conversation. A set of rollouts distinguishes its episodes by task and trial, so each way of
   * playing a task has a number, from 0.
   */
  const trialsOf = (seed: number, way: number, models: Pick<EpisodePlan, 'model' | 'modelAfter'>): EpisodePlan[] =>
    Array.from({ length: ARM_TRIALS }, (_, trial) => ({
      seed,
      split: 'train' as const,
      trial: way * ARM_TRIALS + trial,
      ...models,
      samplingSeed: samplingSeed(context.seed, seed, trial),
    }));
  /** The outcome of each trial; null where its episode failed. The work file's name contains the hash of `inputs`. */
  async function* play(plans: EpisodePlan[], work: string, inputs: unknown, note: string) {
    const hash = createHash('sha256').update(JSON.stringify(inputs)).digest('hex').slice(0, 12);
    const { trajectories, failed } = await runDeployedRollouts(deps, prepared, {
      runId: context.runId,
      plans,
      adapters: await servedAdapters(deps.store, adapters),
      concurrency: prepared.spec.evaluation.concurrency,
      workKey: layout.work(context.runId, `${work}-${hash}`),
      stage: 'evaluate',
      note,
      mayFail: FEW_EPISODES,
    });
    if (failed) lost.push(failed.byCause);
    const wayOf = (trial: number) => Math.floor(trial / ARM_TRIALS);
    for await (const { task, trial, success } of trajectories())
      yield { seed: task.seed, way: wayOf(trial), passed: success };
    for await (const { task, trial } of failed?.trajectories() ?? [])
      yield { seed: task.seed, way: wayOf(trial), passed: null };
  }
  return {
    failed: () => sumFailed(lost),
    async arms(missing) {
      if (missing.length === 0) return [];
      const arms = [...names.keys()];
      const plans = missing.flatMap(({ seed, arm }) => trialsOf(seed, arms.indexOf(arm), { model: names.get(arm)! }));
      const outcomes = [];
      for await (const { seed, way, passed } of play(plans, 'routers', plans, 'comparing routers'))
        outcomes.push({ seed, arm: arms[way]!, passed });
      return outcomes;
    },
    async switches(reads, conversations) {
      const plans = conversations.flatMap(({ way, seed, opening, reader }) => {
        const model = names.get(opening)!;
        return trialsOf(seed, WAYS.indexOf(way), { model, modelAfter: modelForLaterTurns(reader, adapters, model) });
      });
      const targets = conversations.map(({ to }) => names.get(to));
      const passes = new Map<string, number[]>();
      const note = 'comparing switches of adapter at later messages';
      for await (const { seed, way, passed } of play(plans, 'later-turns', [reads, plans, targets], note)) {
        const place = `${seed} ${WAYS[way]}`;
        if (passed !== null) passes.set(place, [...(passes.get(place) ?? []), passed ? 1 : 0]);
      }
      return conversations.map(({ seed, way }) => passes.get(`${seed} ${way}`) ?? []);
    },
  };
}

/** Whether a conversation may switch adapters later, or keeps the first. A way's index numbers its trials. */
const WAYS: readonly Switching['way'][] = ['switch', 'first'];
