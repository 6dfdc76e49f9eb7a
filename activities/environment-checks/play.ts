import type { EnvironmentCall, EnvironmentMove, OpeningMessage } from '../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../environment';
import { againIfTaskFailed } from '../failed-task';
import { meanOrZero } from '../statistics/mean';

/** One step of a script: a tool call, or text without a call. */
export type Move = EnvironmentMove;

/** The result of a scripted episode. */
interface PlayedEpisode {
  messages: OpeningMessage[];
  /** One observation for each move. The episode may have ended before the script did. */
  observations: string[];
  /** In [0, 1]. */
  reward: number;
  /** Keyed by the agent's own ids; empty if the environment has none. */
  diagnostics: Readonly<Record<string, 'lacking' | 'present'>>;
}

/** Largest number of calls in one `step` request. */
const MAX_CALLS = 64;

let episodes = 0;

/**
 * Opens an episode, again where its task failed. Its name is unique in this process and looks like a rollout's, so that
 * an environment cannot detect a check. Rejects as `EnvironmentHandle` does.
 */
export async function openEpisode(
  environment: EnvironmentHandle,
  seed: number,
): Promise<{ episode: string; messages: OpeningMessage[] }> {
  return againIfTaskFailed(async () => {
    const episode = `${seed}-0-${episodes++}`;
    const { messages } = await environment.reset(episode, seed);
    return { episode, messages };
  });
}

/**
 * Plays a script until it or the episode ends, again where its task failed. Rejects as `EnvironmentHandle` does, after
 * it has dropped the episode.
 */
export const play = (environment: EnvironmentHandle, seed: number, moves: readonly Move[]): Promise<PlayedEpisode> =>
  againIfTaskFailed(() => playOnce(environment, seed, moves));

async function playOnce(environment: EnvironmentHandle, seed: number, moves: readonly Move[]): Promise<PlayedEpisode> {
  const { episode, messages } = await openEpisode(environment, seed);
  const observations: string[] = [];
  try {
    for (let next = 0, done = false; next < moves.length && !done;) {
      const move = moves[next]!;
      const calls = callsFrom(moves, next);
      const step = 'text' in move ? await environment.say(episode, move.text) : await environment.step(episode, calls);
      observations.push(...step.observations);
      next += Math.max(1, calls.length);
      done = step.done;
    }
    return { messages, observations, ...(await environment.evaluate(episode)) };
  } catch (error) {
    if (environment.alive) await environment.drop(episode).catch(() => undefined);
    throw error;
  }
}

/** An episode to play. */
export interface Script {
  seed: number;
  moves: readonly Move[];
}

/** Plays all scripts at once and returns their rewards in order. Rejects as `play` does. */
export async function rewardsOf(environment: EnvironmentHandle, scripts: readonly Script[]): Promise<number[]> {
  const played = await Promise.all(scripts.map(({ seed, moves }) => play(environment, seed, moves)));
  return played.map(({ reward }) => reward);
}

/** Mean of `rewardsOf`; 0 for no scripts. */
export const meanRewardOf = async (environment: EnvironmentHandle, scripts: readonly Script[]): Promise<number> =>
  meanOrZero(await rewardsOf(environment, scripts));

/** The consecutive calls from `first` on, as many as one request takes. */
function callsFrom(moves: readonly Move[], first: number): EnvironmentCall[] {
  const calls: EnvironmentCall[] = [];
  for (const move of moves.slice(first, first + MAX_CALLS)) {
    if ('text' in move) break;
    calls.push(move);
  }
  return calls;
}
