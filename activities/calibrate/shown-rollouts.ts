import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, putLines } from '../../store';

/** Number of rollouts of a refused environment that the analyst sees. */
export const SHOWN_ROLLOUTS = 4;

/**
 * Chooses the rollouts to show: the worst, the best, and two in between, of different tasks if possible. An episode
 * without any message shows nothing and is left out.
 */
export function chooseShown(trajectories: readonly Trajectory[]): Trajectory[] {
  const order = trajectories
    .filter(({ messages }) => messages.length > 0)
    .sort((a, b) => a.reward - b.reward || a.task.seed - b.task.seed || a.trial - b.trial);
  const chosen: Trajectory[] = [];
  for (let i = 0; i < Math.min(SHOWN_ROLLOUTS, order.length); i++) {
    const wanted = Math.round((i * (order.length - 1)) / Math.max(1, SHOWN_ROLLOUTS - 1));
    const free = order
      .map((trajectory, at) => ({ trajectory, far: Math.abs(at - wanted) }))
      .filter(({ trajectory }) => !chosen.includes(trajectory))
      .sort((a, b) => a.far - b.far);
    const seen = new Set(chosen.map(({ task }) => task.seed));
    // At equal reward, a rollout of another task shows more.
    const reward = free[0]?.trajectory.reward;
    const other = free.find(({ trajectory: t }) => t.reward === reward && !seen.has(t.task.seed));
    chosen.push((other ?? free[0]!).trajectory);
  }
  return chosen.sort((a, b) => a.reward - b.reward || a.task.seed - b.task.seed || a.trial - b.trial);
}

/** Stores the rollouts that `chooseShown` chooses. Null if there is nothing to show. */
export async function keepShown(
  store: ArtifactStore,
  folder: string,
  trajectories: readonly Trajectory[],
): Promise<ArtifactRef | null> {
  const shown = chooseShown(trajectories);
  return shown.length === 0 ? null : putLines(store, folder, 'rollouts.jsonl', shown);
}
