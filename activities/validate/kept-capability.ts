import type { EnvironmentCheck, Figure, Validation } from '../../contracts/artifacts/environment-check';
import { wholePercent } from '../environment-checks/check';
import type { EnvironmentTask } from '../environment-checks/environment-task';
import { asCall } from '../environment-checks/moves';

/** Checks which show that an attempt's `skill_calls` name the capability. */
const NAMES_THE_CAPABILITY = ['solvable', 'isolated'];
/** If one of these checks fails, the attempt is about something else than the agent's own tasks. */
const IS_ABOUT_THE_TARGET = ['solutions', 'faults'];
/** A later attempt must keep a demand only if at least this share of the earlier tasks had it. */
const ASKED_FOR = 0.5;
/**
 * The fraction of the earlier share that must remain. Shares may change, but a demand of nearly every task must not
 * vanish.
 */
const LEFT = 0.25;

/** Whether a validation says that the attempt's reference solutions show its capability. */
export const showsCapability = ({ checks }: Validation): boolean =>
  NAMES_THE_CAPABILITY.every((name) => checks.some((check) => check.name === name && check.passed)) &&
  !checks.some(({ name, passed }) => IS_ABOUT_THE_TARGET.includes(name) && !passed);

/**
 * Compares the demands of an attempt's tasks with those of an earlier attempt: the tools that show the capability, and
 * whether one task needs it more than once. A repair that needs it less often is easier and passes every other check,
 * but teaches something else: to notify one guest instead of every guest.
 * @param before tasks of the earlier attempt. Both have `skillCalls`.
 */
export function checkKeptCapability(
  tasks: readonly EnvironmentTask[],
  before: { attempt: number; tasks: readonly EnvironmentTask[] },
): EnvironmentCheck {
  const earlier = demands(before.tasks);
  const now = demands(tasks);
  const asked = [...earlier].filter(([, share]) => share >= ASKED_FOR);
  const lost = asked.filter(([demand, share]) => (now.get(demand) ?? 0) < LEFT * share);
  const figures = asked.map(([demand, share]): Figure => ({
    name: `tasks that ask for ${demand}`,
    value: now.get(demand) ?? 0,
    atLeast: LEFT * share,
  }));
  const sentences = lost.map(
    ([demand, share]) =>
      `${wholePercent(now.get(demand) ?? 0)} of the tasks ask for ${demand}; ` +
      `in attempt ${before.attempt} it was ${wholePercent(share)}.`,
  );
  const passed = lost.length === 0;
  return {
    name: 'capability-kept',
    group: 'isolated',
    passed,
    detail: passed
      ? `The tasks still ask for what those of attempt ${before.attempt} asked for.`
      : `The capability was given up. ${sentences.join(' ')} Make what stands around it easier or harder instead.`,
    figures,
  };
}

/** The share of tasks with each demand. */
function demands(tasks: readonly EnvironmentTask[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { reference, skillCalls } of tasks) {
    const tools = (skillCalls ?? []).map((position) => asCall(reference[position]!).name);
    const asks = new Set(tools.map((tool) => `${tool} as part of the capability`));
    if (tools.length > 1) asks.add('the capability more than once');
    for (const demand of asks) counts.set(demand, (counts.get(demand) ?? 0) + 1);
  }
  return new Map([...counts].map(([demand, count]) => [demand, count / Math.max(1, tasks.length)]));
}
