import { canonicalJson } from '../../../contracts/artifacts/trajectory-id';
import { SYNTHETIC_SEEDS } from '../../../contracts/limits';
import type { EnvironmentHandle } from '../../environment';
import { type CheckInput, type CheckResult, resultOf } from '../check';
import type { EnvironmentTask } from '../environment-task';
import { play } from '../play';
import { policyView, randomCalls } from '../scripted-policies';

const PARTS = [
  'opening messages',
  'hidden task',
  'reference solution',
  'observations of the same calls',
  'rewards of the same calls',
] as const;

/** Number of tasks that each further process reads. */
const ELSEWHERE = 25;

/** One pass's record of a task: each of `PARTS` as JSON, or null for a part that the pass did not request. */
type TaskRecord = (string | null)[];

/** Processes of one environment, each with its own hash seed. */
export interface Processes<T> {
  /** This process is asked for tasks and reference solutions. */
  asked: T;
  /**
   * This process plays tasks but never gives reference solutions, as in training. Its rewards must equal those of
   * `asked`.
   */
  played: T;
  /** Others, which only this check uses; the clock of the last one is ahead. */
  fresh: T[];
  /** This process plays training seeds only and is asked for nothing else, like a trainer's from its beginning. */
  trained: T;
}

/**
 * Checks that the same seed gives the same task, messages, solution, observations and rewards. It compares several
 * passes over the tasks. Two passes are in a process that gives each reference solution first. One pass is in a process
 * that never gives a reference solution. One process plays training seeds only. Each further process makes one pass and
 * gives the reference solution after playing the task. The second pass runs in reverse order with all episodes open at
 * once, which shows state shared between episodes. Each process has its own hash seed, because the jail does not set
 * PYTHONHASHSEED.
 */
export async function checkDeterminism(
  { asked, played, fresh, trained }: Processes<EnvironmentHandle>,
  { tools, tasks }: CheckInput,
): Promise<CheckResult> {
  const record = async (environment: EnvironmentHandle, task: EnvironmentTask, asks: boolean): Promise<TaskRecord> => {
    const random = randomCalls(policyView(task, tools));
    const tried = await play(environment, task.seed, random);
    const lacking = task.reference.filter((_, position) => task.skillCalls?.includes(position) !== true);
    const lacked = await play(environment, task.seed, lacking);
    const solved = await play(environment, task.seed, task.reference);
    return [
      solved.messages,
      asks ? await environment.task(task.seed) : undefined,
      asks ? await environment.reference(task.seed) : undefined,
      [solved.observations, tried.observations, lacked.observations],
      [solved.reward, tried.reward, lacked.reward],
    ].map((part) => (part === undefined ? null : canonicalJson(part)));
  };
  const first: TaskRecord[] = [];
  for (const task of tasks) first.push(await record(asked, task, true));
  const pass = async (environment: EnvironmentHandle, some: readonly EnvironmentTask[], asks: boolean) =>
    (await Promise.all([...some].reverse().map((task) => record(environment, task, asks)))).reverse();
  const training = tasks.filter(({ seed }) => seed >= SYNTHETIC_SEEDS.training);
  const places = new Map(training.map(({ seed }, place) => [seed, place]));
  const ofTraining = await pass(trained, training, false);
  const passes: { where: string; records: (TaskRecord | undefined)[] }[] = [
    { where: 'when asked again in another order', records: await pass(asked, tasks, true) },
    { where: 'in a process that is not asked for its solutions', records: await pass(played, tasks, false) },
    {
      where: 'in a process that has seen nothing but training seeds',
      records: tasks.map(({ seed }) => ofTraining[places.get(seed) ?? -1]),
    },
    ...(await Promise.all(fresh.map((environment) => pass(environment, tasks.slice(0, ELSEWHERE), true)))).map(
      (records) => ({ where: 'in another process with another hash seed, whose clock may be ahead', records }),
    ),
  ];
  let different = 0;
  let example: string | null = null;
  for (const [index, { seed }] of tasks.entries()) {
    const seen = first[index]!;
    const found = passes.flatMap(({ where, records }) => {
      const other = records[index];
      const part = other === undefined ? -1 : other.findIndex((text, i) => text !== null && text !== seen[i]);
      return part < 0 ? [] : [`Seed ${seed} gives different ${PARTS[part]} ${where}`];
    });
    if (found.length > 0) different++;
    example ??= found[0] ? `${found[0]}; everything must follow from the seed alone.` : null;
  }
  return resultOf(
    example === null ? [] : [example],
    `${tasks.length} tasks were the same in ${3 + fresh.length} processes with different hash seeds.`,
    [{ name: 'tasks that differed', value: different, atMost: 0 }],
  );
}
