import type { KeptEpisode, KeptTokens } from '../../contracts/artifacts/episode-tokens';
import { passedWithoutCalls, type RolloutSummary, type Trajectory } from '../../contracts/artifacts/trajectory';
import type { StageName } from '../../contracts/names';
import { failedCount } from '../../contracts/failed-episodes';
import { type ArtifactStore, putLines } from '../../store';
import { Progress } from '../progress';
import { isTooLongToOpen } from './episode';
import type { FinishedRollouts } from './run-rollouts';

/** Most characters of ids and log-probabilities in an artifact. */
const MOST_CHARACTERS = 1_000_000_000;

/** The target of a set's trajectories. */
export interface RolloutsArtifact {
  directory: string;
  name: string;
  /** The stage that shows the progress of writing. */
  stage: StageName;
  /** Trajectories of live traffic, which are written last. */
  live?: readonly Trajectory[];
}

/**
 * Writes trajectories as an artifact, one by one and with heartbeats, and returns their summary. Tokens and seconds
 * count only the rollouts. Failed episodes are written as an artifact of their own: what reads the trajectories sees
 * only those that have a result.
 */
export async function storeRollouts(
  store: ArtifactStore,
  { trajectories, failed, tokens, episodes, seconds, damagedLines }: FinishedRollouts,
  { directory, name, stage, live = [] }: RolloutsArtifact,
): Promise<RolloutSummary> {
  const sums = {
    ...{ episodes: 0, successes: 0, withoutCalls: 0, withCalls: 0, tooLong: 0, refused: 0, cut: 0, notWhole: 0 },
    ...{ promptTokens: 0, completionTokens: 0 },
  };
  using progress = new Progress({ stage, unit: 'trajectories written', total: episodes + live.length });
  async function* all() {
    for await (const trajectory of trajectories()) {
      count(trajectory);
      if (isTooLongToOpen(trajectory)) sums.tooLong++;
      if (trajectory.finish === 'refused') sums.refused++;
      if (trajectory.cutReplies !== undefined) sums.cut++;
      sums.promptTokens += trajectory.usage.promptTokens;
      sums.completionTokens += trajectory.usage.completionTokens;
      yield trajectory;
    }
    for (const trajectory of live) {
      count(trajectory);
      yield trajectory;
    }
  }
  function count(trajectory: Trajectory): void {
    sums.episodes++;
    progress.advance();
    if (trajectory.leftOut !== undefined) sums.notWhole++;
    if (trajectory.success) sums.successes++;
    if (passedWithoutCalls(trajectory)) sums.withoutCalls++;
    if (trajectory.steps > 0) sums.withCalls++;
  }
  const ref = await putLines(store, directory, name, all());
  const lost = failedCount(failed?.byCause);
  async function* allFailed() {
    for await (const trajectory of failed!.trajectories()) {
      progress.advance();
      yield trajectory;
    }
  }
  const failedTrajectories = lost > 0 ? await putLines(store, directory, `failed-${name}`, allFailed()) : null;
  const usage = await failed?.usage();
  const keptTokens = tokens && (await storeTokens(store, tokens, directory, `tokens-${name}`));
  const { successes, withoutCalls, withCalls, tooLong, refused, cut, notWhole } = sums;
  return {
    trajectories: ref,
    ...(failedTrajectories && { failedTrajectories }),
    ...(keptTokens && { tokens: keptTokens }),
    episodes: sums.episodes + lost,
    ...(lost > 0 && { failed: failed!.byCause }),
    ...(live.length > 0 && { live: live.length }),
    ...(tooLong > 0 && { tooLong }),
    ...(refused > 0 && { refused }),
    ...(cut > 0 && { cut }),
    ...(notWhole > 0 && { notWhole }),
    ...(damagedLines > 0 && { damagedLines }),
    successes,
    // An agent without tools has no other way to pass.
    ...(withoutCalls > 0 && withCalls > 0 && { withoutCalls }),
    failures: sums.episodes - successes,
    promptTokens: sums.promptTokens + (usage?.promptTokens ?? 0),
    completionTokens: sums.completionTokens + (usage?.completionTokens ?? 0),
    seconds: Math.round(seconds * 100) / 100,
  };
}

/** Writes the tokens of the episodes whose answers are all known, as far as there is room. */
async function storeTokens(
  store: ArtifactStore,
  { episodes, temperature, refusal }: NonNullable<FinishedRollouts['tokens']>,
  directory: string,
  name: string,
): Promise<KeptTokens> {
  let [count, lacking, characters] = [0, 0, 0];
  async function* lines(): AsyncGenerator<KeptEpisode> {
    for await (const { trajectory, tokens } of episodes()) {
      if (tokens.turns === 0) continue;
      const { rows } = tokens;
      characters += rows.reduce((sum, { ids, logprobs }) => sum + ids.length + logprobs.length, 0);
      if (tokens.missing > 0 || characters > MOST_CHARACTERS) {
        lacking++;
        continue;
      }
      count++;
      const { id, task, trial, model, reward } = trajectory;
      yield { id, seed: task.seed, trial, model, temperature, reward, rows };
    }
  }
  const artifact = await putLines(store, directory, name, lines());
  const why = refusal === null ? {} : { refusal };
  return { ...(count > 0 && { artifact }), episodes: count, lacking, ...why };
}
