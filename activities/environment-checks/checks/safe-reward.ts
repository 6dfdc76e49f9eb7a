import type { EnvironmentCall, EnvironmentMove } from '../../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../../environment';
import { meanOrZero } from '../../statistics/mean';
import { type CheckInput, type CheckResult, twoDecimals } from '../check';
import { bySeedRange, type EnvironmentTask } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import { asCall, SAID, speakingTools } from '../moves';
import { rewardsOf } from '../play';
import { NEUTRAL, REFUSAL, sayThrough } from '../scripted-policies';

/** Tasks that are played of each range of seeds. */
const TASKS = 16;

/** Name of the figure that calibration compares with the base model's mean reward. */
export const SAFE_REWARD_FIGURE = 'greatest reward for giving up';

/** How an episode is given up: the words for a sentence, and the last moves. */
interface Ending {
  name: string;
  movesOf: (task: EnvironmentTask) => EnvironmentMove[];
}

/**
 * Checks that giving up is worth little. The reference solution is played up to the first move of `skill_calls`. Then
 * any tool is called once, a refusal is said, both one after the other, or nothing. Where such a policy earns more than
 * the model does, training would teach it: a transfer to a human at 0.40 became the policy in the paper's own runs.
 * Partial rewards for steps of the capability stay free, because these policies never show it. Calibration compares the
 * same figure with the base model's mean reward.
 */
export async function checkSafeReward(
  environment: EnvironmentHandle,
  { tools, tasks }: CheckInput,
): Promise<CheckResult> {
  const some = bySeedRange(tasks.filter(({ skillCalls }) => (skillCalls ?? []).length > 0)).flatMap((range) =>
    range.tasks.slice(0, TASKS),
  );
  const endings = endingsOf(tools, tasks);
  const earned = await Promise.all(
    endings.map(async (ending) => {
      const scripts = some.map((task) => {
        const beginning = task.reference.slice(0, Math.min(...task.skillCalls!));
        return { seed: task.seed, moves: [...beginning, ...ending.movesOf(task)] };
      });
      return meanOrZero(await rewardsOf(environment, scripts));
    }),
  );
  const reward = Math.max(0, ...earned);
  const best = endings[earned.indexOf(reward)]!;
  const limit = CHECK_LIMITS.maxSafeReward;
  const passed = reward <= limit;
  return {
    passed,
    detail:
      `A right beginning, and then ${best.name} before the capability shows, earns ${twoDecimals(reward)} on average over ${some.length} tasks` +
      (passed ? '.' : `; at most ${limit} may be had by giving up, and less than the agent as it is earns.`),
    figures: [{ name: SAFE_REWARD_FIGURE, value: reward, atMost: limit }],
  };
}

/** Ways to give up: nothing, a refusal in each way to speak, a call of each tool, and such a call with a refusal. */
function endingsOf(tools: CheckInput['tools'], tasks: readonly EnvironmentTask[]): Ending[] {
  const speaking = speakingTools(
    tools,
    tasks.map(({ reference }) => reference),
  );
  const refusals = [
    { through: SAID, name: 'a refusal', move: { text: REFUSAL } as EnvironmentMove },
    ...tools.flatMap((tool) => {
      const { name } = tool.function;
      const move = sayThrough(tool, REFUSAL);
      return move === null ? [] : [{ through: name, name: `a refusal through ${name}`, move }];
    }),
  ];
  const calls = tools.map((tool) => {
    const { name } = tool.function;
    return { name, callIn: (task: EnvironmentTask) => callOf(name, Object.keys(propertiesOf(tool)), task) };
  });
  return [
    { name: 'nothing more', movesOf: () => [] },
    ...refusals.map(({ name, move }): Ending => ({ name, movesOf: () => [move] })),
    ...calls.map(({ name, callIn }): Ending => ({
      name: `a call of ${name}`,
      movesOf: (task) => listOf(callIn(task)),
    })),
    ...calls
      .filter(({ name }) => !speaking.has(name))
      .flatMap(({ name, callIn }) =>
        refusals
          .filter(({ through }) => speaking.has(through))
          .map((refusal): Ending => ({
            name: `a call of ${name} and ${refusal.name}`,
            movesOf: (task) => [...listOf(callIn(task)), refusal.move],
          })),
      ),
  ];
}

const listOf = <T>(one: T | null): T[] => (one === null ? [] : [one]);

const propertiesOf = (tool: CheckInput['tools'][number]): Record<string, unknown> =>
  (tool.function.parameters?.['properties'] ?? {}) as Record<string, unknown>;

/** A call with the arguments of the solution, as far as it has them; neutral words for the others. */
function callOf(
  name: string,
  keys: readonly string[],
  { reference, skillCalls }: EnvironmentTask,
): EnvironmentCall | null {
  const calls = reference.map(asCall);
  // The capability's own call would show it.
  if (calls.some((call, position) => call.name === name && skillCalls!.includes(position))) return null;
  const known = new Map(calls.flatMap(({ arguments: given }) => Object.entries(given)));
  const own = calls.find((call) => call.name === name);
  return own ?? { name, arguments: Object.fromEntries(keys.map((key) => [key, known.get(key) ?? NEUTRAL])) };
}
