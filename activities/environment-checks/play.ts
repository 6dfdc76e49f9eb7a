import type { EnvironmentCall, OpeningMessage } from '../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../environment';

/** What a script does next: a tool call, or text without one. */
export type Move = EnvironmentCall | { text: string };

/** A scripted episode. */
export interface Played {
  messages: OpeningMessage[];
  /** One for each move that was made; the episode may have ended before the last. */
  observations: string[];
  /** In [0, 1]. */
  reward: number;
}

/** Calls that one `step` request takes. */
const MAX_CALLS = 64;

let episodes = 0;

/** Opens an episode under a name that no other one has. */
export async function openEpisode(
  environment: EnvironmentHandle,
  seed: number,
): Promise<{ episode: string; messages: OpeningMessage[] }> {
  const episode = `script-${episodes++}`;
  const { messages } = await environment.reset(episode, seed);
  return { episode, messages };
}

/** Plays a script up to its end or the episode's. Rejects as `EnvironmentHandle` does; the episode is dropped then. */
export async function play(environment: EnvironmentHandle, seed: number, moves: readonly Move[]): Promise<Played> {
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
    return { messages, observations, reward: (await environment.evaluate(episode)).reward };
  } catch (error) {
    if (environment.alive) await environment.drop(episode).catch(() => undefined);
    throw error;
  }
}

/** Rewards of scripts, in their order. */
export async function rewardsOf(
  environment: EnvironmentHandle,
  scripts: readonly { seed: number; moves: readonly Move[] }[],
): Promise<number[]> {
  return (await Promise.all(scripts.map(({ seed, moves }) => play(environment, seed, moves)))).map(
    ({ reward }) => reward,
  );
}

function keep<T extends { observations: string[]; done: boolean }>(step: T, observations: string[]): T {
  observations.push(...step.observations);
  return step;
}

function callsFrom(moves: readonly Move[], first: number): EnvironmentCall[] {
  const calls: EnvironmentCall[] = [];
  for (const move of moves.slice(first, first + MAX_CALLS)) {
    if ('text' in move) break;
    calls.push(move);
  }
  return calls;
}
