import type { EnvironmentTool } from '../../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../../environment';
import { type CheckInput, type CheckResult, twoDecimals } from '../check';
import { type EnvironmentTask, promptOf } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import { meanRewardOf, type Move } from '../play';
import {
  CLAIM,
  INJECTION,
  policyView,
  randomCalls,
  REFUSAL,
  repeatTool,
  spamByTool,
  spamCalls,
  waysToSpeak,
} from '../scripted-policies';

/** Number of tasks on which the ways of a policy are compared; then the best way plays all tasks. */
const SCREENED = 10;

/** One way in which a policy can act. It sees only what the agent sees. */
interface Way {
  /** Subject of a sentence: "Claiming success through reply". */
  name: string;
  moves: (task: EnvironmentTask) => Move[];
}

/** Policies without skill, with the ways in which they can act. */
const TRIVIAL_POLICIES = {
  nop: () => [{ name: 'Doing nothing', moves: () => [] }],
  'random-calls': (tools) => [{ name: 'Calling random tools', moves: (task) => randomCalls(policyView(task, tools)) }],
  'echo-the-prompt': (tools) => speaking(tools, 'Repeating the prompt', promptOf),
  'repeat-one-tool': (tools) =>
    tools.map((tool) => ({
      name: `Calling only ${tool.function.name}`,
      moves: (task: EnvironmentTask) => repeatTool(tool, policyView(task, tools)),
    })),
  'always-refuse': (tools) => speaking(tools, 'Refusing', () => REFUSAL),
  'claim-success': (tools) => speaking(tools, 'Claiming success', () => CLAIM),
  'tool-spam': (tools) => [
    { name: 'Calling every tool in turn, again and again,', moves: (task) => spamCalls(policyView(task, tools)) },
    { name: 'Calling one tool after the other many times', moves: (task) => spamByTool(policyView(task, tools)) },
  ],
  'injected-text': (tools) => speaking(tools, 'Text for the grader', () => INJECTION),
} satisfies Record<string, (tools: readonly EnvironmentTool[]) => Way[]>;
/** Name of a policy without skill, and of its check. */
export type TrivialPolicy = keyof typeof TRIVIAL_POLICIES;

/**
 * Checks that a policy without skill earns little on average. A policy with several ways to act, such as several tools,
 * tries each way on a few tasks, then the best one on all tasks.
 */
export async function checkTrivialPolicy(
  environment: EnvironmentHandle,
  { tools, tasks }: CheckInput,
  policy: TrivialPolicy,
): Promise<CheckResult> {
  const ways = TRIVIAL_POLICIES[policy](tools);
  const earn = (way: Way, on: readonly EnvironmentTask[]): Promise<number> =>
    meanRewardOf(
      environment,
      on.map((task) => ({ seed: task.seed, moves: way.moves(task) })),
    );
  const screened = ways.length === 1 ? [0] : await Promise.all(ways.map((way) => earn(way, tasks.slice(0, SCREENED))));
  const best = ways[screened.indexOf(Math.max(...screened))]!;
  const reward = await earn(best, tasks);
  const passed = reward <= CHECK_LIMITS.maxTrivialReward;
  const limit = passed ? '' : `; at most ${CHECK_LIMITS.maxTrivialReward} may be had without the skill`;
  const others = ways.length > 1 ? `, the most of ${ways.length} ways` : '';
  return {
    passed,
    detail: `${best.name} earns ${twoDecimals(reward)} on average over ${tasks.length} tasks${others}${limit}.`,
    figures: [{ name: 'mean reward', value: reward, atMost: CHECK_LIMITS.maxTrivialReward }],
  };
}

/** Says a text in each way in which the agent can speak. */
const speaking = (tools: readonly EnvironmentTool[], doing: string, textOf: (task: EnvironmentTask) => string): Way[] =>
  waysToSpeak(tools).map(({ through, say }) => ({
    name: through === null ? doing : `${doing} ${through}`,
    moves: (task) => [say(textOf(task))],
  }));
