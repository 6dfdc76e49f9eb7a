import type { EnvironmentCall, EnvironmentMove, OpeningMessage } from '../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../environment';

/** One step of a script: a tool call, or text without a call. */
export type Move = EnvironmentMove;

/** What a scripted episode showed. */
interface PlayedEpisode {
  messages: OpeningMessage[];
  /** One for each move made. The episode may have ended before the script did. */
  observations: string[];
  /** In [0, 1]. */
  reward: number;
  /** By the agent's own ids; empty where the environment has none. */
  diagnostics: Readonly<Record<string, 'lacking' | 'present'>>;
}

/** Most calls that one `step` request takes. */
const MAX_CALLS = 64;

let episodes = 0;

/**
 * Opens an episode under a name that no other episode of this process has, in the form of those of rollouts: nothing
 * tells an environment that it is being checked. Rejects as `EnvironmentHandle` does.
 */
export async function openEpisode(
  environment: EnvironmentHandle,
  seed: number,
): Promise<{ episode: string; messages: OpeningMessage[] }> {
  const episode = `${seed}-0-${episodes++}`;
  const { messages } = await environment.reset(episode, seed);
  return { episode, messages };
}

/**
 * Plays a script until it or the episode ends. Rejects as `EnvironmentHandle` does, after dropping the episode.
 */
export async function play(
  environment: EnvironmentHandle,
  seed: number,
  moves: readonly Move[],
): Promise<PlayedEpisode> {
  const { episode, messages } = await openEpisode(environment, seed);
  const observations: string[] = [];
  try {
    for (let next = 0, done = false; next < moves.length && !done;) {
      const move = moves[next]!;
      if ('text' in move) {
        ({ done } = keep(await environment.say(episode, move.text), observations));
        next++;
      } else {
        const run = callsFrom(moves, next);
        ({ done } = keep(await environment.step(episode, run), observations));
        next += run.length;
      }
    }
    return { messages, observations, ...(await environment.evaluate(episode)) };
  } catch (error) {
    if (environment.alive) await environment.drop(episode).catch(() => undefined);
    throw error;
  }
}

/** Plays all scripts at once and returns their rewards in order. Rejects as `play` does. */
export async function rewardsOf(
  environment: EnvironmentHandle,
  scripts: readonly { seed: number; moves: readonly Move[] }[],
): Promise<number[]> {
  return (await Promise.all(scripts.map(({ seed, moves }) => play(environment, seed, moves)))).map(
    ({ reward }) => reward,
  );
}

/** Appends a step's observations, and returns the step. */
function keep<T extends { observations: string[]; done: boolean }>(step: T, observations: string[]): T {
  observations.push(...step.observations);
  return step;
}

/** The calls in a row from `first` on, as many as one request takes. */
function callsFrom(moves: readonly Move[], first: number): EnvironmentCall[] {
  const calls: EnvironmentCall[] = [];
  for (const move of moves.slice(first, first + MAX_CALLS)) {
    if ('text' in move) break;
    calls.push(move);
  }
  return calls;
}
