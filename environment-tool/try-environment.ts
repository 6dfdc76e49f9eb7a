import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Clock, systemClock } from '../activities/clock';
import { type EnvironmentHandle } from '../activities/environment';
import { type Move, play } from '../activities/environment-checks/play';
import { wholeWords } from '../contracts/clean-text';
import type { AgentSpec } from '../contracts/config/agent-spec';
import type { EnvironmentToolLine } from '../contracts/messages/environment-tool';
import { loadAgentSpec } from '../loaders/agent-spec';
import { openEnvironment } from '../sandbox';
import { writeLine } from './output';

/** Most moves of a reference solution that are played. */
const MOST_MOVES = 64;

/** Tasks of each range that are played. */
const TASKS_OF_RANGE = 8;

/** No further task begins after so long: a slow environment shall not hold up a command that people wait for. */
const MOST_MS = 20_000;

/** Most characters of a move or an answer that are shown, and of all of them together. */
const SHOWN = { one: 100, all: 1000 };

/** The only turn of an agent that says nothing. */
const SILENCE: Move[] = [{ text: '' }];

/**
 * Imports the owner's environment of an agent.yaml as a run does, and plays some of its train and held-out tasks: with
 * the reference solution, and with an agent that says nothing. Every request has the time limit of the profile. Throws
 * SandboxError, with the traceback in its message, when the environment fails.
 */
export async function tryEnvironment(agentPath: string): Promise<void> {
  const spec = loadAgentSpec(agentPath);
  const path = resolve(dirname(agentPath), spec.environment.path);
  const source = readFileSync(path, 'utf8');
  const environment = await openEnvironment({ source, trust: 'owner', name: path, agent: spec.name });
  try {
    writeLine({ type: 'loaded', tools: (await environment.describe()).tools });
    await tryTasks(environment, tasksToTry(spec.environment), writeLine);
  } finally {
    await environment.close();
  }
}

/** A task of the agent, and the field of agent.yaml that it is from. */
interface TriedTask {
  seed: number;
  range: 'trainSeeds' | 'heldOutSeeds';
}

/** Tasks spread over both ranges, from each its first and its last; the ranges take turns. */
export function tasksToTry(ranges: Pick<AgentSpec['environment'], TriedTask['range']>): TriedTask[] {
  const tasks = (['trainSeeds', 'heldOutSeeds'] as const).flatMap((range) => {
    const { start, count } = ranges[range];
    const most = Math.min(TASKS_OF_RANGE, count);
    return Array.from({ length: most }, (_, turn) => {
      const seed = start + Math.round((turn * (count - 1)) / Math.max(1, most - 1));
      return { turn, seed, range };
    });
  });
  return tasks.sort((a, b) => a.turn - b.turn).map(({ seed, range }) => ({ seed, range }));
}

/** Plays tasks one after the other and tells each, before it begins and when it is over. Rejects as `play` does. */
export async function tryTasks(
  environment: EnvironmentHandle,
  tasks: readonly TriedTask[],
  tell: (line: EnvironmentToolLine) => void,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<void> {
  const began = clock.now();
  for (const task of tasks) {
    if (clock.now() - began > MOST_MS) return;
    tell({ type: 'trying', ...task });
    const moves = (await environment.reference(task.seed)).slice(0, MOST_MOVES);
    const { reward, diagnostics, observations, messages } = await play(environment, task.seed, moves);
    const { reward: idleReward, messages: again } = await play(environment, task.seed, SILENCE);
    const solution = JSON.stringify(moves);
    const movesAgain = (await environment.reference(task.seed)).slice(0, MOST_MOVES);
    tell({
      type: 'tried',
      ...task,
      moves: observations.length,
      reward,
      idleReward,
      diagnostics: Object.keys(diagnostics),
      changes: JSON.stringify(messages) !== JSON.stringify(again) || solution !== JSON.stringify(movesAgain),
      sha256: createHash('sha256').update(JSON.stringify(messages)).update(solution).digest('hex'),
      played: describe(moves, observations),
    });
  }
}

/** What was played and answered, in one line: `weigh({"parcel":"P41"}) -> "250 g", ...`. */
function describe(moves: readonly Move[], observations: readonly string[]): string {
  const cut = (text: string): string => wholeWords(text, SHOWN.one);
  const said = observations.map((observation, index) => {
    const move = moves[index]!;
    const made = 'text' in move ? JSON.stringify(move.text) : `${move.name}(${JSON.stringify(move.arguments)})`;
    return `${cut(made)} -> ${cut(JSON.stringify(observation))}`;
  });
  const left = moves.length - said.length;
  const rest =
    left > 0 ? ` (the episode ended there, ${left} more ${left === 1 ? 'move was' : 'moves were'} left)` : '';
  return (wholeWords(said.join(', '), SHOWN.all) || 'nothing') + rest;
}
