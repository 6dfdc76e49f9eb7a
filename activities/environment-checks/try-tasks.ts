import { createHash } from 'node:crypto';
import { wholeWords } from '../../contracts/clean-text';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { TaskToTry, TaskTrial } from '../../contracts/solvable-tasks';
import { type Clock, systemClock } from '../clock';
import type { EnvironmentHandle } from '../environment';
import { moveText } from './moves';
import { type Move, play } from './play';

/** Most moves of a reference solution that are played. */
const MOST_MOVES = 64;

/** Number of tasks of each range that are played. */
const TASKS_OF_RANGE = 8;

/** No further task begins after this time, in milliseconds: people wait for this command. */
const MOST_MS = 20_000;

/** Most characters shown of a move or an answer, and of all of them together. */
const SHOWN = { one: 100, all: 1000 };

/** The only turn of an agent that says nothing. */
const SILENCE: Move[] = [{ text: '' }];

/** Tasks spread over both ranges, from each its first and its last; the ranges take turns. */
export function tasksToTry(ranges: Pick<AgentSpec['environment'], TaskToTry['range']>): TaskToTry[] {
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

/** Progress, cancellation and clock. */
interface TryOptions {
  onBegin?: (task: TaskToTry) => void;
  onEnd?: (task: TaskTrial) => void;
  clock?: Pick<Clock, 'now'>;
}

/** Plays tasks one after the other. Returns the results of those that began in time. Rejects as `play` does. */
export async function tryTasks(
  environment: EnvironmentHandle,
  tasks: readonly TaskToTry[],
  { onBegin, onEnd, clock = systemClock }: TryOptions = {},
): Promise<TaskTrial[]> {
  const began = clock.now();
  const tried: TaskTrial[] = [];
  for (const task of tasks) {
    if (clock.now() - began > MOST_MS) break;
    onBegin?.(task);
    const one = await tryTask(environment, task);
    onEnd?.(one);
    tried.push(one);
  }
  return tried;
}

async function tryTask(environment: EnvironmentHandle, task: TaskToTry): Promise<TaskTrial> {
  const moves = (await environment.reference(task.seed)).slice(0, MOST_MOVES);
  const { reward, diagnostics, observations, messages } = await play(environment, task.seed, moves);
  const { reward: idleReward, messages: again } = await play(environment, task.seed, SILENCE);
  const solution = JSON.stringify(moves);
  const movesAgain = (await environment.reference(task.seed)).slice(0, MOST_MOVES);
  return {
    ...task,
    moves: observations.length,
    reward,
    idleReward,
    diagnostics: Object.keys(diagnostics),
    changes: JSON.stringify(messages) !== JSON.stringify(again) || solution !== JSON.stringify(movesAgain),
    sha256: createHash('sha256').update(JSON.stringify(messages)).update(solution).digest('hex'),
    played: describe(moves, observations),
  };
}

/** The moves and answers in one line: `weigh({"parcel":"P41"}) -> "250 g", ...`. */
function describe(moves: readonly Move[], observations: readonly string[]): string {
  const cut = (text: string): string => wholeWords(text, SHOWN.one);
  const said = observations.map((observation, index) => {
    return `${cut(moveText(moves[index]!))} -> ${cut(JSON.stringify(observation))}`;
  });
  const left = moves.length - said.length;
  const rest =
    left > 0 ? ` (the episode ended there, ${left} more ${left === 1 ? 'move was' : 'moves were'} left)` : '';
  return (wholeWords(said.join(', '), SHOWN.all) || 'nothing') + rest;
}
