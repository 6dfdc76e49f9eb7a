import type { EnvironmentHandle } from '../../environment';
import { meanOrZero } from '../../statistics/mean';
import { seededRandom } from '../../statistics/random';
import { type CheckInput, type CheckResult, twoDecimals } from '../check';
import type { EnvironmentTask } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import { type Move, rewardsOf } from '../play';
import { argumentValues, withOneWrongArgument } from '../wrong-arguments';

/** Number of tasks played, each with one call wrong at a time. */
const TASKS = 40;
/** Reward from which an episode counts as a success. */
const SUCCESS = 0.99;

/**
 * Checks that the reward follows the capability and not the rest. `generate_task` names the calls of the reference
 * solution that show the capability (`skill_calls`). Two kinds of episodes are played: some with the skill calls right
 * and one other call wrong; some with the other calls right and one skill call wrong, or all skill calls left out. The
 * first kind must earn clearly more than the second, and the second must not succeed.
 *
 * Only one call is wrong at a time: with all other calls wrong, the capability would have nothing left to show in.
 */
export async function checkIsolation(environment: EnvironmentHandle, { tasks }: CheckInput): Promise<CheckResult> {
  const undeclared = tasks.find(({ skillCalls }) => skillCalls === null || skillCalls.length === 0);
  if (undeclared) {
    const detail =
      `The task of seed ${undeclared.seed} does not say in "skill_calls" which positions of its reference solution ` +
      'show the capability (a list of at least one index, from 0).';
    return { passed: false, detail, figures: [] };
  }
  const values = argumentValues(tasks);
  const scripts = tasks.slice(0, TASKS).flatMap((task) => variantsOf(task, values));
  const earned = await rewardsOf(environment, scripts);
  const of = (wrong: 'skill' | 'rest'): number[] => earned.filter((_, index) => scripts[index]!.wrong === wrong);
  const withoutSkill = of('skill');
  const withoutRest = of('rest');
  const successes = withoutSkill.filter((reward) => reward >= SUCCESS).length / Math.max(1, withoutSkill.length);
  const gap = meanOrZero(withoutRest) - meanOrZero(withoutSkill);
  const figures = [
    { name: 'success with the capability wrong', value: successes, atMost: CHECK_LIMITS.maxSuccessWithoutSkill },
    { name: 'mean reward with the capability wrong', value: meanOrZero(withoutSkill) },
    ...(withoutRest.length > 0
      ? [
          { name: 'mean reward with another call wrong', value: meanOrZero(withoutRest) },
          { name: 'difference', value: gap, atLeast: CHECK_LIMITS.minIsolationGap },
        ]
      : []),
  ];
  const otherWay =
    withoutRest.length > 0
      ? `${twoDecimals(meanOrZero(withoutRest))} the other way round`
      : 'and no call is anything but the capability';
  const numbers =
    `${twoDecimals(meanOrZero(withoutSkill))} with the capability wrong and the rest right ` +
    `(${twoDecimals(successes)} of these episodes succeed), ${otherWay}`;
  const problems = [
    ...(successes > CHECK_LIMITS.maxSuccessWithoutSkill
      ? [`at most ${CHECK_LIMITS.maxSuccessWithoutSkill} may succeed without the capability`]
      : []),
    ...(withoutRest.length > 0 && gap < CHECK_LIMITS.minIsolationGap
      ? [`the capability must decide, by a difference of at least ${CHECK_LIMITS.minIsolationGap}`]
      : []),
  ];
  const passed = problems.length === 0;
  return { passed, detail: `Mean reward is ${numbers}${passed ? '' : `: ${problems.join('; ')}`}.`, figures };
}

/** The reference solution of a task with something wrong in it. */
interface Variant {
  seed: number;
  moves: Move[];
  wrong: 'skill' | 'rest';
}

function variantsOf(
  { seed, reference, skillCalls }: EnvironmentTask,
  values: ReadonlyMap<string, readonly unknown[]>,
): Variant[] {
  const random = seededRandom(seed);
  const skill = new Set(skillCalls);
  const replaced = reference.flatMap((call, position) =>
    withOneWrongArgument(call, values, random).map((wrong): Variant => ({
      seed,
      moves: reference.map((right, index) => (index === position ? wrong : right)),
      wrong: skill.has(position) ? 'skill' : 'rest',
    })),
  );
  return [...replaced, { seed, moves: reference.filter((_, position) => !skill.has(position)), wrong: 'skill' }];
}
