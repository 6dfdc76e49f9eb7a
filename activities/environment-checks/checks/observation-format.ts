import type { EnvironmentHandle } from '../../environment';
import { type CheckResult, type Examination, viewOf } from '../examination';
import { formatDifference } from '../observation-format';
import { play } from '../play';
import { clumsyCalls, randomCalls } from '../scripted-policies';
import type { TargetProfile } from '../target-profile';

/** Tasks whose observations are looked at. */
const TASKS = 20;

/** Tools answer in the form in which the agent's answer: text or JSON, with the same members and types. */
export async function checkObservationFormat(
  environment: EnvironmentHandle,
  { tools, tasks }: Examination,
  target: TargetProfile,
): Promise<CheckResult> {
  const scripts = tasks
    .slice(0, TASKS)
    .flatMap((task, index) => [
      { task, calls: task.reference },
      { task, calls: randomCalls(viewOf(task, tools)) },
      ...(index === 0 ? clumsyCalls(tools).map((call) => ({ task, calls: [call] })) : []),
    ]);
  let looked = 0;
  const problems = new Map<string, string>();
  for (const { task, calls } of scripts) {
    // What raises is another check's matter, as long as the process lives.
    const played = await play(environment, task.seed, calls).catch((error: unknown) => {
      if (!environment.alive) throw error;
      return null;
    });
    played?.observations.forEach((observation, index) => {
      const { name } = calls[index]!;
      const format = target.formats.get(name);
      if (format === undefined) return;
      looked++;
      const found = formatDifference(format, observation);
      const refuses = target.refusal !== undefined && formatDifference(target.refusal, observation) === null;
      if (found && !refuses && !problems.has(name))
        problems.set(name, `${name} answers ${JSON.stringify(observation.slice(0, 120))}, which ${found}.`);
    });
  }
  const figures = [{ name: 'tools that answer in another form', value: problems.size, atMost: 0 }];
  if (problems.size > 0) return { passed: false, detail: [...problems.values()].slice(0, 4).join(' '), figures };
  return { passed: true, detail: `${looked} observations have the form of the agent's.`, figures };
}
