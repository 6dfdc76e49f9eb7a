import type { RolloutSummary, Trajectory } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, putLines } from '../../store';
import { isTooLongToOpen } from './episode';
import type { RolloutResults } from './run-rollouts';

/**
 * Writes trajectories as an artifact, those of live traffic last, and returns their summary. Tokens and seconds count
 * the rollouts only.
 */
export async function storeRollouts(
  store: ArtifactStore,
  directory: string,
  name: string,
  { trajectories, seconds }: RolloutResults,
  live: readonly Trajectory[] = [],
): Promise<RolloutSummary> {
  const all = [...trajectories, ...live];
  const tooLong = trajectories.filter(isTooLongToOpen).length;
  const cut = trajectories.filter(({ cutReplies }) => cutReplies !== undefined).length;
  const successes = all.filter((trajectory) => trajectory.success).length;
  return {
    trajectories: await putLines(store, directory, name, all),
    episodes: all.length,
    ...(live.length > 0 && { live: live.length }),
    ...(tooLong > 0 && { tooLong }),
    ...(cut > 0 && { cut }),
    successes,
    failures: all.length - successes,
    promptTokens: trajectories.reduce((sum, { usage }) => sum + usage.promptTokens, 0),
    completionTokens: trajectories.reduce((sum, { usage }) => sum + usage.completionTokens, 0),
    seconds: Math.round(seconds * 100) / 100,
  };
}
