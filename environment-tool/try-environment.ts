import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { EnvironmentMove } from '../contracts/messages/environment-protocol';
import { loadAgentSpec } from '../loaders/agent-spec';
import { type EnvironmentProcess, openEnvironment } from '../sandbox';
import { writeLine } from './output';

/** Name of the one episode in the environment's process. */
const EPISODE = 'validate';
/** Most moves that are played. */
const MOST_MOVES = 64;
/** Tasks of each range that are played. */
const TASKS = 8;

/**
 * Imports the owner's environment of an agent.yaml as a run does. Plays some of its train tasks and of its held-out
 * tasks, each with the reference solution and with no move at all. Every request has the time limit of the profile.
 * Throws SandboxError, with the traceback in its message, when the environment fails.
 */
export async function tryEnvironment(agentPath: string): Promise<void> {
  const spec = loadAgentSpec(agentPath);
  const path = resolve(dirname(agentPath), spec.environment.path);
  const source = readFileSync(path, 'utf8');
  const environment = await openEnvironment({ source, trust: 'owner', name: path, agent: spec.name });
  try {
    const { tools } = await environment.describe();
    const seeds = [...spread(spec.environment.trainSeeds), ...spread(spec.environment.heldOutSeeds)];
    const { messages } = await environment.reset(EPISODE, seeds[0]!);
    writeLine({ type: 'opening', seed: seeds[0]!, tools, messages });
    await environment.drop(EPISODE);
    for (const seed of seeds) {
      const idle = await playMoves(environment, seed, []);
      const solution = (await environment.reference(seed)).slice(0, MOST_MOVES);
      writeLine({ type: 'tried', seed, ...(await playMoves(environment, seed, solution)), idleReward: idle.reward });
    }
  } finally {
    await environment.close();
  }
}

async function playMoves(
  environment: EnvironmentProcess,
  seed: number,
  solution: readonly EnvironmentMove[],
): Promise<{ moves: number; reward: number }> {
  await environment.reset(EPISODE, seed);
  let moves = 0;
  for (const move of solution) {
    moves += 1;
    const { done } =
      'text' in move ? await environment.say(EPISODE, move.text) : await environment.step(EPISODE, [move]);
    if (done) break;
  }
  const { reward } = await environment.evaluate(EPISODE);
  await environment.drop(EPISODE);
  return { moves, reward };
}

/** Seeds of a range at even distances, its first one among them. */
function spread({ start, count }: { start: number; count: number }): number[] {
  const some = Math.min(TASKS, count);
  return Array.from({ length: some }, (_, place) => start + Math.floor((place * count) / some));
}
