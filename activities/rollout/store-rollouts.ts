import type { RolloutSummary, Trajectory } from '../../contracts/artifacts/trajectory';
import type { StageName } from '../../contracts/names';
import { type ArtifactStore, putLines } from '../../store';
import { Progress } from '../progress';
import { isTooLongToOpen } from './episode';
import type { FinishedRollouts } from './run-rollouts';

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
 * count only the rollouts.
 */
export async function storeRollouts(
  store: ArtifactStore,
  { trajectories, episodes, seconds, damagedLines }: FinishedRollouts,
  { directory, name, stage, live = [] }: RolloutsArtifact,
): Promise<RolloutSummary> {
  const sums = { episodes: 0, successes: 0, tooLong: 0, refused: 0, cut: 0, promptTokens: 0, completionTokens: 0 };
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
  function count({ success }: Trajectory): void {
    sums.episodes++;
    progress.advance();
    if (success) sums.successes++;
  }
  const ref = await putLines(store, directory, name, all());
  const { successes, tooLong, refused, cut, promptTokens, completionTokens } = sums;
  return {
    trajectories: ref,
    episodes: sums.episodes,
    ...(live.length > 0 && { live: live.length }),
    ...(tooLong > 0 && { tooLong }),
    ...(refused > 0 && { refused }),
    ...(cut > 0 && { cut }),
    ...(damagedLines > 0 && { damagedLines }),
    successes,
    failures: sums.episodes - successes,
    promptTokens,
    completionTokens,
    seconds: Math.round(seconds * 100) / 100,
  };
}
