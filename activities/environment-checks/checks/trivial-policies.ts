import type { EnvironmentTool } from '../../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../../environment';
import {
  CERTIFICATION,
  type CheckResult,
  type Examination,
  type ExaminedTask,
  promptOf,
  text,
  viewOf,
} from '../examination';
import { meanOrZero } from '../../statistics/mean';
import { type Move, rewardsOf } from '../play';
import {
  CLAIM,
  INJECTION,
  randomCalls,
  REFUSAL,
  repeatTool,
  sayThrough,
  spamByTool,
  spamCalls,
} from '../scripted-policies';

/** Tasks on which a policy's ways are compared before the best one is tried on all. */
const SCREENED = 10;

/** One way in which a policy can act; all of them know no more than the agent. */
interface Way {
  /** For a sentence: "Claiming success through reply". */
  name: string;
  moves: (task: ExaminedTask) => Move[];
}

/** Policies without any skill, and what may be gained by them. */
const TRIVIAL_POLICIES = {
  nop: () => [{ name: 'Doing nothing', moves: () => [] }],
  'random-calls': (tools) => [{ name: 'Calling random tools', moves: (task) => randomCalls(viewOf(task, tools)) }],
  'echo-the-prompt': (tools) => speaking(tools, 'Repeating the prompt', promptOf),
  'repeat-one-tool': (tools) =>
    tools.map((tool) => ({
      name: `Calling only ${tool.function.name}`,
      moves: (task: ExaminedTask) => repeatTool(tool, viewOf(task, tools)),
    })),
  'always-refuse': (tools) => speaking(tools, 'Refusing', () => REFUSAL),
  'claim-success': (tools) => speaking(tools, 'Claiming success', () => CLAIM),
  'tool-spam': (tools) => [
    { name: 'Calling every tool in turn, again and again,', moves: (task) => spamCalls(viewOf(task, tools)) },
    { name: 'Calling one tool after the other many times', moves: (task) => spamByTool(viewOf(task, tools)) },
  ],
  'injected-text': (tools) => speaking(tools, 'Text for the grader', () => INJECTION),
} satisfies Record<string, (tools: readonly EnvironmentTool[]) => Way[]>;
export type TrivialPolicy = keyof typeof TRIVIAL_POLICIES;

/**
 * A policy without skill earns little on average. A policy that can act in several ways (through several tools) is
 * tried in all of them on a few tasks and in the best one on all.
 */
export async function checkTrivialPolicy(
  environment: EnvironmentHandle,
  { tools, tasks }: Examination,
  policy: TrivialPolicy,
): Promise<CheckResult> {
  const ways = TRIVIAL_POLICIES[policy](tools);
  const earn = async (way: Way, on: readonly ExaminedTask[]): Promise<number> =>
    meanOrZero(
      await rewardsOf(
        environment,
        on.map((task) => ({ seed: task.seed, moves: way.moves(task) })),
      ),
    );
  const screened = ways.length === 1 ? [0] : await Promise.all(ways.map((way) => earn(way, tasks.slice(0, SCREENED))));
  const best = ways[screened.indexOf(Math.max(...screened))]!;
  const reward = await earn(best, tasks);
  const passed = reward <= CERTIFICATION.maxTrivialReward;
  const limit = passed ? '' : `; at most ${CERTIFICATION.maxTrivialReward} may be had without the skill`;
  const others = ways.length > 1 ? `, the most of ${ways.length} ways` : '';
  return {
    passed,
    detail: `${best.name} earns ${text(reward)} on average over ${tasks.length} tasks${others}${limit}.`,
    figures: [{ name: 'mean reward', value: reward, atMost: CERTIFICATION.maxTrivialReward }],
  };
}

/** A text said plainly, and through each tool that takes nothing but text. */
function speaking(tools: readonly EnvironmentTool[], doing: string, textOf: (task: ExaminedTask) => string): Way[] {
  const through = tools.filter((tool) => sayThrough(tool, 'x') !== null);
  return [
    { name: doing, moves: (task) => [{ text: textOf(task) }] },
    ...through.map((tool) => ({
      name: `${doing} through ${tool.function.name}`,
      moves: (task: ExaminedTask) => [sayThrough(tool, textOf(task))!],
    })),
  ];
}
