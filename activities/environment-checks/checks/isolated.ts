import type { EnvironmentCall } from '../../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../../environment';
import { CERTIFICATION, type CheckResult, type Examination, type ExaminedTask, text } from '../examination';
import { meanOrZero } from '../../statistics/mean';
import { type Move, rewardsOf } from '../play';
import { seededRandom } from '../../statistics/random';
import { wrongValue } from '../scripted-policies';

/** Tasks that are played with one call wrong at a time. */
const TASKS = 40;
/** An episode with the capability's calls wrong should not reach this. */
const SUCCESS = 0.99;

/** Every value that an argument has in the reference solutions, by tool and argument. */
export function argumentValues(tasks: readonly ExaminedTask[]): Map<string, unknown[]> {
  const values = new Map<string, unknown[]>();
  for (const { name, arguments: given } of tasks.flatMap(({ reference }) => reference)) {
    for (const [key, value] of Object.entries(given))
      values.set(`${name}.${key}`, [...(values.get(`${name}.${key}`) ?? []), value]);
  }
  return values;
}

/** The call with one argument at a time replaced by another value of its kind; nothing for a call without arguments. */
export function corrupted(
  call: EnvironmentCall,
  values: ReadonlyMap<string, readonly unknown[]>,
  random: () => number,
): EnvironmentCall[] {
  return Object.entries(call.arguments).map(([key, value]) => ({
    name: call.name,
    arguments: { ...call.arguments, [key]: wrongValue(value, values.get(`${call.name}.${key}`) ?? [], random) },
  }));
}

/**
 * The reward follows the capability and not the rest. `generate_task` names the calls of the reference solution that
 * show the capability (`skill_calls`). Played are episodes with them right and one other call wrong, and episodes with
 * the rest right and one of them wrong or all of them left out: the first must earn clearly more than the second, and
 * the second must not succeed.
 *
 * One call at a time, because where the other calls all are wrong nothing is left that the capability could show in.
 */
export async function checkIsolation(environment: EnvironmentHandle, { tasks }: Examination): Promise<CheckResult> {
  const undeclared = tasks.find(({ skillCalls }) => skillCalls === null || skillCalls.length === 0);
  if (undeclared) {
    const detail = `The task of seed ${undeclared.seed} does not say in "skill_calls" which positions of its reference solution show the capability (a list of at least one index, from 0).`;
    return { passed: false, detail, figures: [] };
  }
  const some = tasks.slice(0, TASKS);
  const values = argumentValues(tasks);
  const scripts = some.flatMap((task) => variantsOf(task, values));
  const earned = await rewardsOf(environment, scripts);
  const of = (wrong: 'skill' | 'rest'): number[] => earned.filter((_, index) => scripts[index]!.wrong === wrong);
  const withoutSkill = of('skill');
  const withoutRest = of('rest');
  const successes = withoutSkill.filter((reward) => reward >= SUCCESS).length / Math.max(1, withoutSkill.length);
  const gap = meanOrZero(withoutRest) - meanOrZero(withoutSkill);
  const figures = [
    { name: 'success with the capability wrong', value: successes, atMost: CERTIFICATION.maxSuccessWithoutSkill },
    { name: 'mean reward with the capability wrong', value: meanOrZero(withoutSkill) },
    ...(withoutRest.length > 0
      ? [
          { name: 'mean reward with another call wrong', value: meanOrZero(withoutRest) },
          { name: 'difference', value: gap, atLeast: CERTIFICATION.minIsolationGap },
        ]
      : []),
  ];
  const numbers = `${text(meanOrZero(withoutSkill))} with the capability wrong and the rest right (${text(successes)} of these episodes succeed), ${withoutRest.length > 0 ? `${text(meanOrZero(withoutRest))} the other way round` : 'and no call is anything but the capability'}`;
  const problems = [
    ...(successes > CERTIFICATION.maxSuccessWithoutSkill
      ? [`at most ${CERTIFICATION.maxSuccessWithoutSkill} may succeed without the capability`]
      : []),
    ...(withoutRest.length > 0 && gap < CERTIFICATION.minIsolationGap
      ? [`the capability must decide, by a difference of at least ${CERTIFICATION.minIsolationGap}`]
      : []),
  ];
  const passed = problems.length === 0;
  return { passed, detail: `Mean reward is ${numbers}${passed ? '' : `: ${problems.join('; ')}`}.`, figures };
}

interface Variant {
  seed: number;
  moves: Move[];
  wrong: 'skill' | 'rest';
}

function variantsOf(
  { seed, reference, skillCalls }: ExaminedTask,
  values: ReadonlyMap<string, readonly unknown[]>,
): Variant[] {
  const random = seededRandom(seed);
  const skill = new Set(skillCalls);
  const replaced = reference.flatMap((call, position) =>
    corrupted(call, values, random).map((wrong): Variant => ({
      seed,
      moves: reference.map((right, index) => (index === position ? wrong : right)),
      wrong: skill.has(position) ? 'skill' : 'rest',
    })),
  );
  return [...replaced, { seed, moves: reference.filter((_, position) => !skill.has(position)), wrong: 'skill' }];
}
