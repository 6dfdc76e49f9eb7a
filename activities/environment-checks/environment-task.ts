import { SYNTHETIC_SEEDS } from '../../contracts/limits';
import type { EnvironmentCall, OpeningMessage } from '../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../environment';
import { mapInParallel } from '../in-parallel';
import { openEpisode } from './play';

/** One task of an environment, as the checks see it. */
export interface EnvironmentTask {
  seed: number;
  messages: OpeningMessage[];
  /** The reference solution. */
  reference: EnvironmentCall[];
  /**
   * Positions in `reference` of the calls that show the capability, from `skill_calls` of `generate_task`. Null when
   * `generate_task` names none or names invalid ones.
   */
  skillCalls: number[] | null;
}

/** Seeds of the first `count` tasks that validation looks at. */
export const validationSeeds = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => SYNTHETIC_SEEDS.validation + index);

/**
 * Number of tasks read at a time. All requests waiting on one environment process must be answered within that
 * process's request deadline (sandbox/profile.json).
 */
export const TASKS_AT_ONCE = 16;

/**
 * Reads opening, reference solution and declared skill calls of the tasks.
 * @throws SandboxError when the environment fails; the signal's reason.
 */
export function readTasks(
  environment: EnvironmentHandle,
  seeds: readonly number[],
  signal?: AbortSignal,
): Promise<EnvironmentTask[]> {
  return mapInParallel(seeds, TASKS_AT_ONCE, signal ?? new AbortController().signal, async (seed) => {
    const { episode, messages } = await openEpisode(environment, seed);
    await environment.drop(episode);
    const [reference, task] = await Promise.all([environment.reference(seed), environment.task(seed)]);
    return { seed, messages, reference, skillCalls: skillCallsOf(task, reference.length) };
  });
}

function skillCallsOf(task: Record<string, unknown>, calls: number): number[] | null {
  const declared = task['skill_calls'];
  if (!Array.isArray(declared)) return null;
  const valid = declared.filter(
    (position): position is number => Number.isInteger(position) && position >= 0 && position < calls,
  );
  return valid.length === declared.length ? [...new Set(valid)] : null;
}

/** The text of the opening's user messages: what the agent is asked. */
export const promptOf = ({ messages }: Pick<EnvironmentTask, 'messages'>): string =>
  messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => content)
    .join('\n');
