import { createHash } from 'node:crypto';
import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import { wholeWords } from '../../contracts/clean-text';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { type EnvironmentFacts, MODULE_FACTS } from '../../contracts/config/environment-kinds/facts';
import type { TaskToTry, TaskTrial } from '../../contracts/solvable-tasks';
import { SandboxError } from '../../sandbox';
import { type Clock, systemClock } from '../clock';
import { type EnvironmentHandle, factsOf, type OpenEnvironment, type PaidSource } from '../environment';
import { AHEAD_SECONDS } from './limits';
import { moveText } from './moves';
import { type Move, openEpisode, play } from './play';

/** Largest number of moves that are played of a reference solution. */
const MOST_MOVES = 64;

/** Number of tasks that are played of each range. */
const TASKS_OF_RANGE = 8;

/** No further task begins after this time, in milliseconds, because people wait for this command. */
const MOST_MS = 20_000;

/**
 * Further processes: the seconds by which their clocks are ahead. A task that depends on the time differs where the
 * clock is ahead. A task that depends on the order of a set differs in some of the others, because each process draws a
 * hash seed of its own. Those after the first two begin only while the environment is quick.
 */
const LATER = [0, AHEAD_SECONDS, 0, 50_000_003, 0, 0, 0, 0];
const ALWAYS = 2;
const QUICK_MS = 4_000;

/** No further task is played in those processes after this time, in milliseconds. */
const MOST_MS_ELSEWHERE = 10_000;

/** Most characters shown of a move or an answer, and of all of them together. */
const SHOWN = { one: 100, all: 1000 };

/** The only turn of an agent that says nothing. */
const SILENCE: Move[] = [{ text: '' }];

/** Tasks spread over both ranges, alternating between them; each range's first and last task are included. */
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

/** Progress and clock. */
interface TryOptions {
  /** Called with the first process, before anything is played. */
  onLoad?: (environment: EnvironmentHandle) => Promise<void>;
  onBegin?: (task: TaskToTry) => void;
  onEnd?: (task: TaskTrial) => void;
  clock?: Pick<Clock, 'now'>;
}

/**
 * Plays tasks one after the other, and again in further processes, in reverse order. Returns the results of those that
 * began in time. An environment that pays for its episodes plays the first task of each range, and one that does not
 * promise the same bytes is not compared with itself. Rejects as `OpenEnvironment` and `play` do.
 */
export async function tryTasks(
  open: OpenEnvironment,
  source: PaidSource,
  tasks: readonly TaskToTry[],
  { onLoad, onBegin, onEnd, clock = systemClock }: TryOptions = {},
): Promise<TaskTrial[]> {
  const tried: Tried[] = [];
  let facts = MODULE_FACTS;
  await inProcess(open, source, async (environment) => {
    await onLoad?.(environment);
    facts = factsOf(environment);
    const began = clock.now();
    const ranges = new Set(tasks.map(({ range }) => range));
    for (const task of facts.costsTokens ? tasks.slice(0, ranges.size) : tasks) {
      if (clock.now() - began > MOST_MS && (!facts.costsTokens || tried.length === ranges.size)) break;
      onBegin?.(task);
      tried.push(await tryTask(environment, task, facts));
    }
  });
  const changes = tried.some(({ trial }) => trial.changes !== null);
  if (!changes && facts.deterministic) await compareElsewhere({ open, source, facts }, tried, onBegin, clock);
  for (const { trial } of tried) onEnd?.(trial);
  return tried.map(({ trial }) => trial);
}

/** What is compared of a task, in the order in which differences are told. */
const PARTS = [
  'its opening differs',
  'its hidden task differs',
  'its reference solution differs',
  'the answers to the same moves differ',
  'the reward of the same moves differs',
] as const;

/** A trial, the moves that were played, and what is compared, each part as JSON. */
interface Tried {
  trial: TaskTrial;
  moves: Move[] | null;
  parts: string[];
}

async function inProcess(
  open: OpenEnvironment,
  source: PaidSource,
  action: (environment: EnvironmentHandle) => Promise<void>,
): Promise<void> {
  const environment = await open(source);
  try {
    await action(environment);
  } finally {
    await environment.close();
  }
}

async function tryTask(environment: EnvironmentHandle, task: TaskToTry, facts: EnvironmentFacts): Promise<Tried> {
  if (!facts.steppable) return tryOpening(environment, task);
  const solution = facts.hasReferences ? await environment.reference(task.seed) : null;
  const moves = solution?.slice(0, MOST_MOVES) ?? null;
  const { solved, idle, parts } = await playTask(environment, task.seed, moves, facts);
  const again = [canonicalJson(idle.messages), parts[1], canonicalJson(solution)];
  const trial = {
    ...task,
    moves: moves === null ? 0 : solved.observations.length,
    reward: moves === null ? null : solved.reward,
    idleReward: idle.reward,
    diagnostics: Object.keys(solved.diagnostics),
    changes: facts.deterministic ? changesOf('when it is made again', parts, again) : null,
    sha256: createHash('sha256').update(JSON.stringify(solved.messages)).update(JSON.stringify(moves)).digest('hex'),
    played: describe(moves ?? SILENCE, solved.observations),
  };
  return { trial, moves, parts };
}

/** Opens a task that only the agent's own program can play. */
async function tryOpening(environment: EnvironmentHandle, task: TaskToTry): Promise<Tried> {
  const { episode, messages } = await openEpisode(environment, task.seed);
  await environment.drop(episode);
  const nothing = { moves: 0, reward: null, idleReward: null, diagnostics: [], changes: null, played: 'nothing' };
  const sha256 = createHash('sha256').update(JSON.stringify(messages)).digest('hex');
  return { trial: { ...task, ...nothing, sha256 }, moves: null, parts: [] };
}

/** Plays the solution of a task, if it has one, and an agent that says nothing. */
async function playTask(
  environment: EnvironmentHandle,
  seed: number,
  moves: readonly Move[] | null,
  { deterministic, hasReferences }: EnvironmentFacts,
) {
  const idleFirst = moves === null ? await play(environment, seed, SILENCE) : null;
  const solved = idleFirst ?? (await play(environment, seed, moves!));
  const idle = idleFirst ?? (await play(environment, seed, SILENCE));
  if (!deterministic) return { solved, idle, parts: [] };
  const parts = [
    solved.messages,
    await environment.task(seed),
    hasReferences ? await environment.reference(seed) : null,
    solved.observations,
    [solved.reward, solved.diagnostics, idle.reward],
  ].map(canonicalJson);
  return { solved, idle, parts };
}

/** The first part that another making of a task has differently, as a clause; null where there is none. */
function changesOf(where: string, parts: readonly string[], other: readonly (string | undefined)[]): string | null {
  const first = other.findIndex((part, index) => part !== parts[index]);
  return first < 0 ? null : `${where}: ${PARTS[first]}`;
}

/** Plays the tasks again in further processes, until one has a task differently, and notes how. */
async function compareElsewhere(
  { open, source, facts }: { open: OpenEnvironment; source: PaidSource; facts: EnvironmentFacts },
  tried: readonly Tried[],
  onBegin: TryOptions['onBegin'],
  clock: Pick<Clock, 'now'>,
): Promise<void> {
  const began = clock.now();
  const passed = (): number => clock.now() - began;
  for (const [number, laterBySeconds] of LATER.entries()) {
    if (number >= ALWAYS && passed() > QUICK_MS) return;
    const where =
      laterBySeconds > 0
        ? 'in another process whose clock is ahead'
        : 'in another process, with the tasks in another order';
    try {
      const later = 'source' in source ? { ...source, laterBySeconds } : source;
      await inProcess(open, later, async (environment) => {
        for (const [index, { trial, moves, parts }] of [...tried].reverse().entries()) {
          if (index > 0 && passed() > MOST_MS_ELSEWHERE) return;
          onBegin?.(trial);
          const other = await playTask(environment, trial.seed, moves, facts);
          trial.changes ??= changesOf(where, parts, other.parts);
        }
      });
    } catch (error) {
      // A service that the environment asks may refuse a clock that is ahead.
      if (laterBySeconds === 0 || !(error instanceof SandboxError)) throw error;
    }
    if (tried.some(({ trial }) => trial.changes !== null)) return;
  }
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
