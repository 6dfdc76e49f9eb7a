import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import { type ArtifactStore, storedLines } from '../../store';
import type { TargetProfile } from '../environment-checks/target-profile';

/** Most tasks whose openings are added. */
const MOST_TASKS = 1000;

/**
 * A target profile with the openings of the train tasks that a run has played. An environment that pays for its
 * episodes opens only a few tasks for its profile, which would know too few of the agent's words.
 * @throws the signal's reason; the errors of reading an artifact.
 */
export async function withPlayedOpenings(
  store: ArtifactStore,
  target: TargetProfile,
  trajectories: ArtifactRef,
  signal: AbortSignal,
): Promise<TargetProfile> {
  const played = new Map<number, string>();
  for await (const trajectory of await storedLines(store, trajectorySchema)(trajectories)) {
    signal.throwIfAborted();
    const { seed, split } = trajectory.task;
    if (split === 'train' && played.size < MOST_TASKS && !played.has(seed)) played.set(seed, requestOf(trajectory));
  }
  return { ...target, train: [...new Set([...target.train, ...played.values()])] };
}

/** What the user said before the model's first answer. */
function requestOf({ messages, openingAnswers = 0 }: Trajectory): string {
  const said: string[] = [];
  let answers = 0;
  for (const { role, content } of messages) {
    if (role === 'assistant' && ++answers > openingAnswers) break;
    if (role === 'user' && content !== null) said.push(content);
  }
  return said.join('\n');
}
