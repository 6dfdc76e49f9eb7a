import type { EnvironmentCall, EnvironmentTool, OpeningMessage } from '../../contracts/messages/environment-protocol';
import type { Figure } from '../../contracts/artifacts/environment-check';
import { SYNTHETIC_SEEDS } from '../../contracts/limits';
import type { EnvironmentHandle } from '../environment';
import { mapInParallel } from '../in-parallel';
import { openEpisode } from './play';
import { seededRandom } from '../statistics/random';
import type { PolicyView } from './scripted-policies';

/** What a check found. `detail` is a sentence with the numbers, also when it passed. */
export interface CheckResult {
  passed: boolean;
  detail: string;
  figures: Figure[];
}

/** One task of an environment as its certificate sees it. */
export interface ExaminedTask {
  seed: number;
  messages: OpeningMessage[];
  reference: EnvironmentCall[];
  /**
   * Positions in `reference` of the calls that show the capability; null where `generate_task` does not say
   * (`skill_calls`).
   */
  skillCalls: number[] | null;
}

/** What the checks look at. */
export interface Examination {
  tools: readonly EnvironmentTool[];
  /** Tasks behind each scripted check. */
  tasks: readonly ExaminedTask[];
}

/** Numbers that decide; their sources are in docs/environments.md. Shares and rewards are in [0, 1]. */
export const CERTIFICATION = {
  minReferenceReward: 0.99,
  maxTrivialReward: 0.2,
  /** What a claim or an injected text may add to an episode, on average, over a neutral text in its place. */
  maxTextGain: 0.05,
  maxNearDuplicates: 0.05,
  minDistinctSolutions: 0.2,
  minTaskSpace: 1000,
  /**
   * Mean reward with the capability right and another call wrong, less that with the capability wrong and the rest
   * right.
   */
  minIsolationGap: 0.1,
  /**
   * Episodes that may succeed although the capability's calls are wrong: a wrong argument is sometimes right by chance.
   */
  maxSuccessWithoutSkill: 0.1,
  maxHeldOutTexts: 0.01,
} as const;

/** Seeds of the tasks that validation looks at. */
export const validationSeeds = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => SYNTHETIC_SEEDS.validation + index);

/**
 * Tasks that are asked for at a time: all requests of a line have to be answered within the line's deadline
 * (sandbox/profile.json).
 */
export const AT_ONCE = 16;

/**
 * Opening, reference solution and declared skill of tasks. Rejects as the environment does, or with the signal's
 * reason.
 */
export function examineTasks(
  environment: EnvironmentHandle,
  seeds: readonly number[],
  signal?: AbortSignal,
): Promise<ExaminedTask[]> {
  return mapInParallel(seeds, AT_ONCE, signal ?? new AbortController().signal, async (seed) => {
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

/** What a scripted policy sees of a task; the same numbers at every call. */
export const viewOf = ({ messages, seed }: ExaminedTask, tools: readonly EnvironmentTool[]): PolicyView => ({
  messages,
  tools,
  random: seededRandom(seed),
});

/** The text that the agent is asked with. */
export const promptOf = ({ messages }: Pick<ExaminedTask, 'messages'>): string =>
  messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => content)
    .join('\n');

export const text = (value: number): string => value.toFixed(2);
