import type { RolloutSummary } from '../../contracts';
import { type ArtifactStore, putLines } from '../../store';
import type { RolledOut } from './roll-out';

/** Writes the trajectories as an artifact and sums them up. */
export async function summarise(store: ArtifactStore, directory: string, name: string, { trajectories, seconds }: RolledOut): Promise<RolloutSummary> {
  const successes = trajectories.filter((trajectory) => trajectory.success).length;
  return {
    trajectories: await putLines(store, directory, name, trajectories),
    episodes: trajectories.length,
    successes,
    failures: trajectories.length - successes,
    promptTokens: trajectories.reduce((sum, { usage }) => sum + usage.promptTokens, 0),
    completionTokens: trajectories.reduce((sum, { usage }) => sum + usage.completionTokens, 0),
    seconds: Math.round(seconds * 100) / 100,
  };
}
