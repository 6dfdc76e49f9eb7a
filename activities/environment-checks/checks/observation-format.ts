import type { EnvironmentHandle } from '../../environment';
import { type CheckInput, type CheckResult, resultOf } from '../check';
import { asCall } from '../moves';
import { formatDifference } from '../observation-format';
import { play } from '../play';
import { malformedCalls, policyView, randomCalls } from '../scripted-policies';
import type { TargetProfile } from '../target-profile';
import { startOf } from '../../../contracts/clean-text';

/** Number of tasks played. */
const TASKS = 20;

/** Checks that each tool answers in the form of the agent's tool: text, or JSON with the same members and types. */
export async function checkObservationFormat(
  environment: EnvironmentHandle,
  { tools, tasks }: CheckInput,
  target: TargetProfile,
): Promise<CheckResult> {
  const scripts = tasks
    .slice(0, TASKS)
    .flatMap((task, index) => [
      { task, calls: task.reference },
      { task, calls: randomCalls(policyView(task, tools)) },
      ...(index === 0 ? malformedCalls(tools).map((call) => ({ task, calls: [call] })) : []),
    ]);
  let looked = 0;
  const problems = new Map<string, string>();
  for (const { task, calls } of scripts) {
    // Other checks judge an exception that does not end the process.
    const played = await play(environment, task.seed, calls).catch((error: unknown) => {
      if (!environment.alive) throw error;
      return null;
    });
    played?.observations.forEach((observation, index) => {
      const { name } = asCall(calls[index]!);
      const format = target.formats.get(name);
      if (format === undefined) return;
      looked++;
      const found = formatDifference(format, observation);
      const refuses = target.refusal !== null && formatDifference(target.refusal, observation) === null;
      if (found && !refuses && !problems.has(name))
        problems.set(name, `${name} answers ${JSON.stringify(startOf(observation, 120))}, which ${found}.`);
    });
  }
  return resultOf([...problems.values()].slice(0, 4), `${looked} observations have the form of the agent's.`, [
    { name: 'tools that answer in another form', value: problems.size, atMost: 0 },
  ]);
}
