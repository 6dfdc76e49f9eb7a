import { canonicalJson } from '../../../contracts/artifacts/trajectory-id';
import type { EnvironmentHandle } from '../../environment';
import type { CheckInput, CheckResult } from '../check';
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

/** What one pass saw of a task: each of `PARTS` as JSON. */
interface TaskRecord {
  seed: number;
  parts: string[];
}

/**
 * Checks that the same seed gives the same task, messages, solution, observations and rewards. It compares three passes
 * over the tasks: two in one process and one in another. The second pass goes in reverse order with all episodes open
 * at once, so that state shared between episodes shows. The third has another hash seed: without PYTHONHASHSEED, as in
 * the jail, every Python process draws its own.
 */
export async function checkDeterminism(
  one: EnvironmentHandle,
  two: EnvironmentHandle,
  { tools, tasks }: CheckInput,
): Promise<CheckResult> {
  const record = async (environment: EnvironmentHandle, task: EnvironmentTask): Promise<TaskRecord> => {
    const random = randomCalls(policyView(task, tools));
    const reference = await environment.reference(task.seed);
    const hidden = await environment.task(task.seed);
    const [solved, tried] = await Promise.all([
      play(environment, task.seed, reference),
      play(environment, task.seed, random),
    ]);
    const parts = [
      solved.messages,
      hidden,
      reference,
      [solved.observations, tried.observations],
      [solved.reward, tried.reward],
    ];
    return { seed: task.seed, parts: parts.map(canonicalJson) };
  };
  const first: TaskRecord[] = [];
  for (const task of tasks) first.push(await record(one, task));
  const again = (await Promise.all([...tasks].reverse().map((task) => record(one, task)))).reverse();
  const elsewhere = await Promise.all(tasks.map((task) => record(two, task)));
  let different = 0;
  let example: string | null = null;
  for (const [index, { seed, parts }] of first.entries()) {
    const found = (
      [
        [again[index]!, 'when asked again in another order'],
        [elsewhere[index]!, 'in another process with another hash seed'],
      ] as const
    ).flatMap(([other, where]) => {
      const part = parts.findIndex((text, i) => text !== other.parts[i]);
      return part < 0
        ? []
        : [`Seed ${seed} gives different ${PARTS[part]} ${where}; everything must follow from the seed alone.`];
    });
    if (found.length > 0) different++;
    example ??= found[0] ?? null;
  }
  const figures = [{ name: 'tasks that differed', value: different, atMost: 0 }];
  if (example !== null) return { passed: false, detail: example, figures };
  return {
    passed: true,
    detail: `${tasks.length} tasks were the same three times in two processes with different hash seeds.`,
    figures,
  };
}
