import { createHash } from 'node:crypto';
import { CHECKED_TRAINING_TASKS, SYNTHETIC_SEEDS } from '../../contracts/limits';
import type { EnvironmentMove, OpeningMessage } from '../../contracts/messages/environment-protocol';
import { type EnvironmentHandle, factsOf } from '../environment';
import { mapInParallel } from '../in-parallel';
import { seededRandom } from '../statistics/random';
import { openEpisode } from './play';

/** One task of an environment, as the checks see it. */
export interface EnvironmentTask {
  seed: number;
  messages: OpeningMessage[];
  /** The reference solution; empty where the environment has none. */
  reference: EnvironmentMove[];
  /**
   * Positions in `reference` of the moves that show the capability, from `skill_calls` of `generate_task`. Empty for a
   * task that must not show the capability. Null if `generate_task` has no such list or names invalid positions.
   */
  skillCalls: number[] | null;
  /** What `generate_task` gave, which the agent does not see; absent where it is not needed. */
  hidden?: Record<string, unknown>;
}

/**
 * Seeds of the `count` tasks that validation reads. Every second seed is a training seed, drawn by the source's hash,
 * so that no environment can behave differently in training. The rest are from the ranges of validation and
 * calibration.
 */
export function validationSeeds(count: number, source: string): number[] {
  const random = seededRandom(createHash('sha256').update(source).digest().readUInt32BE());
  const { calibration, validation, training } = SYNTHETIC_SEEDS;
  const seeds = new Set<number>();
  while (seeds.size < count) {
    const index = seeds.size;
    if (index % 2 === 0) seeds.add(training + Math.floor(random() * CHECKED_TRAINING_TASKS));
    else seeds.add((index % 4 === 1 ? validation : calibration) + Math.floor(index / 2));
  }
  return [...seeds];
}

/** The tasks of training seeds and the others, each group with its name; empty groups are left out. */
export function bySeedRange<T extends { seed: number }>(tasks: readonly T[]): { name: string; tasks: T[] }[] {
  const isTraining = ({ seed }: T): boolean => seed >= SYNTHETIC_SEEDS.training;
  return [
    { name: 'at training seeds', tasks: tasks.filter(isTraining) },
    { name: 'at other seeds', tasks: tasks.filter((task) => !isTraining(task)) },
  ].filter((range) => range.tasks.length > 0);
}

/** The groups of `bySeedRange`, and before them all tasks together if there are two. */
export function allAndBySeedRange<T extends { seed: number }>(tasks: readonly T[]): { name: string; tasks: T[] }[] {
  const ranges = bySeedRange(tasks);
  return ranges.length < 2 ? ranges : [{ name: 'at all seeds', tasks: [...tasks] }, ...ranges];
}

/**
 * Number of tasks read at a time. One process must answer all pending requests within its request deadline
 * (sandbox/profile.json).
 */
export const TASKS_AT_ONCE = 16;

/**
 * Reads the opening, reference solution and declared skill calls of each task.
 * @throws SandboxError when the environment fails; the signal's reason.
 */
export function readTasks(
  environment: EnvironmentHandle,
  seeds: readonly number[],
  signal: AbortSignal,
): Promise<EnvironmentTask[]> {
  return mapInParallel(seeds, TASKS_AT_ONCE, signal, (seed) => readTask(environment, seed));
}

/** Reads one task, as `readTasks` does. */
export async function readTask(environment: EnvironmentHandle, seed: number): Promise<EnvironmentTask> {
  const { episode, messages } = await openEpisode(environment, seed);
  await environment.drop(episode);
  const isKnown = factsOf(environment).hasReferences;
  const [reference, task] = await Promise.all([isKnown ? environment.reference(seed) : [], environment.task(seed)]);
  return { seed, messages, reference, skillCalls: skillCallsOf(task, reference.length), hidden: task };
}

function skillCallsOf(task: Record<string, unknown>, calls: number): number[] | null {
  const declared = task['skill_calls'];
  if (!Array.isArray(declared)) return null;
  const valid = declared.filter(
    (position): position is number => Number.isInteger(position) && position >= 0 && position < calls,
  );
  return valid.length === declared.length ? [...new Set(valid)] : null;
}

const textOf =
  (role: OpeningMessage['role']) =>
  ({ messages }: Pick<EnvironmentTask, 'messages'>): string =>
    messages.flatMap((message) => (message.role === role ? message.content : [])).join('\n');

/** The text of the opening's system messages: the agent's instructions. */
export const systemOf = textOf('system');

/** The text of the opening's user messages: the request. */
export const promptOf = textOf('user');
