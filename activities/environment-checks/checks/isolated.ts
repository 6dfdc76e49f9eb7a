import type { Figure } from '../../../contracts/artifacts/environment-check';
import type { EnvironmentHandle } from '../../environment';
import { meanOrZero } from '../../statistics/mean';
import { seededRandom } from '../../statistics/random';
import { wholeWords } from '../../../contracts/clean-text';
import { type CheckInput, type CheckResult, twoDecimals, wholePercent } from '../check';
import { bySeedRange, type EnvironmentTask } from '../environment-task';
import { CHECK_LIMITS, SUCCESS } from '../limits';
import { asCall, moveText } from '../moves';
import { type Move, rewardsOf } from '../play';
import { argumentValues, withOneWrongArgument } from '../wrong-arguments';

/** Number of tasks that are played, each with one wrong move at a time. */
const TASKS = 50;

/** Longest displayed move, and longest displayed solution, in characters. */
const MOST_SHOWN = 90;
const MOST_MOVES_SHOWN = 300;

/**
 * Checks that the reward depends on the capability, not on the rest. `generate_task` names the moves of the reference
 * solution that show the capability (`skill_calls`). A task that must not show the capability names no moves. The check
 * plays two kinds of episodes. In the first kind, the skill moves are right and one other move is wrong. In the second
 * kind, the other moves are right; one skill move is wrong, or all skill moves are left out. The first kind must earn
 * clearly more than the second. The second kind must not succeed, neither at training seeds nor at others.
 *
 * In the first kind, only one move is wrong at a time. If all other moves were wrong, the capability could not show. A
 * value that is also an argument of a skill move stays right in the other moves. Otherwise, a check of one room
 * followed by a booking of another room would itself lack the capability.
 */
export async function checkIsolation(environment: EnvironmentHandle, { tasks }: CheckInput): Promise<CheckResult> {
  const problem = undeclared(tasks);
  if (problem !== null) return { passed: false, detail: problem, figures: [] };
  const values = argumentValues(tasks);
  const some = tasks.filter(({ skillCalls }) => skillCalls!.length > 0).slice(0, TASKS);
  const scripts = some.flatMap((task) => variantsOf(task, values));
  const earned = await rewardsOf(environment, scripts);
  const played = scripts.map((script, index): Played => ({ ...script, reward: earned[index]! }));
  const ranges = bySeedRange(some).map(({ name, tasks: inRange }) => {
    const episodes = played.filter(({ task }) => inRange.includes(task));
    return {
      name,
      withoutSkill: episodes.filter(({ wrong }) => wrong === 'skill'),
      withoutRest: episodes.filter(({ wrong }) => wrong === 'rest'),
    };
  });
  const verdicts = ranges.map(judge);
  const problems = verdicts.flatMap((verdict) => verdict.problems);
  const worst = verdicts.find((verdict) => verdict.problems.length > 0) ?? verdicts[0]!;
  // The example comes first, because only the beginning of a list of problems is shown.
  const detail = [...worst.problems, worst.numbers].map((sentence) => `${sentence}.`).join(' ');
  return { passed: problems.length === 0, detail, figures: worst.figures };
}

/** The problem with the declared skill moves, as a sentence, or null. */
function undeclared(tasks: readonly EnvironmentTask[]): string | null {
  const without = tasks.find(({ skillCalls }) => skillCalls === null);
  if (without) {
    const moves = without.reference.map((move, position) => `${position}: ${shown(move)}`).join(', ');
    return (
      `The task of seed ${without.seed} does not say in "skill_calls" which positions of its reference solution ` +
      'show the capability, or names one that is not there. Let generate_task return a list of them (from 0; empty ' +
      'for a task in which it must not be shown), so that these moves can be played wrong. An environment of ' +
      `agent.yaml needs no such list: whet validate checks it. The solution: ${wholeWords(moves, MOST_MOVES_SHOWN)}.`
    );
  }
  for (const range of bySeedRange(tasks)) {
    const share = range.tasks.filter(({ skillCalls }) => skillCalls!.length > 0).length / range.tasks.length;
    if (share < CHECK_LIMITS.minTasksWithSkill)
      return (
        `Only ${wholePercent(share)} of the tasks ${range.name} name a move in "skill_calls"; ` +
        `${wholePercent(CHECK_LIMITS.minTasksWithSkill)} must call for the capability.`
      );
  }
  return null;
}

function judge({ name, withoutSkill, withoutRest }: { name: string; withoutSkill: Played[]; withoutRest: Played[] }) {
  const succeeding = withoutSkill.filter(({ reward }) => reward >= SUCCESS);
  const successes = succeeding.length / Math.max(1, withoutSkill.length);
  const mean = (episodes: readonly Played[]) => meanOrZero(episodes.map(({ reward }) => reward));
  const [lacking, other] = [mean(withoutSkill), mean(withoutRest)];
  const gap = other - lacking;
  const hasRest = withoutRest.length > 0;
  const figures: Figure[] = [
    { name: 'success with the capability wrong', value: successes, atMost: CHECK_LIMITS.maxSuccessWithoutSkill },
    { name: 'mean reward with the capability wrong', value: lacking },
  ];
  if (hasRest)
    figures.push(
      { name: 'mean reward with another call wrong', value: other },
      { name: 'difference', value: gap, atLeast: CHECK_LIMITS.minIsolationGap },
    );
  const otherWay = hasRest ? `${twoDecimals(other)} the other way round` : 'and no call is anything but the capability';
  const numbers =
    `Mean reward ${name} is ${twoDecimals(lacking)} with the capability wrong and the rest right ` +
    `(${twoDecimals(successes)} of these episodes succeed), ${otherWay}`;
  const problems: string[] = [];
  if (successes > CHECK_LIMITS.maxSuccessWithoutSkill)
    problems.push(
      `${exampleOf(succeeding[0]!)}, where less than ${SUCCESS} was expected; ${succeeding.length} of ` +
        `${withoutSkill.length} such episodes succeed, and at most ` +
        `${wholePercent(CHECK_LIMITS.maxSuccessWithoutSkill)} may. Let evaluate pay less without these moves, or ` +
        'take out of "skill_calls" what does not show the capability',
    );
  if (hasRest && gap < CHECK_LIMITS.minIsolationGap) {
    const least = withoutRest.reduce((least, one) => (one.reward < least.reward ? one : least));
    problems.push(
      `${exampleOf(least)}, although every move of "skill_calls" was right; such episodes must earn ` +
        `at least ${CHECK_LIMITS.minIsolationGap} more on average than those with a move of "skill_calls" wrong, ` +
        `and the difference is ${twoDecimals(gap)}. Let evaluate pay for the capability rather than for the other ` +
        'moves, or name in "skill_calls" the moves that show it',
    );
  }
  return { figures, numbers, problems };
}

const exampleOf = ({ seed, about, reward }: Played): string =>
  `At seed ${seed} the reference solution, ${about}, earned ${twoDecimals(reward)}`;

const shown = (move: Move): string => wholeWords(moveText(move), MOST_SHOWN);

/** The reference solution of a task with something wrong in it. */
interface Variant {
  task: EnvironmentTask;
  seed: number;
  moves: Move[];
  wrong: 'skill' | 'rest';
  /** The fault of the variant, as the end of a sentence about "the reference solution,". */
  about: string;
}

/** A variant, and its reward. */
interface Played extends Variant {
  reward: number;
}

function variantsOf(task: EnvironmentTask, values: ReadonlyMap<string, readonly unknown[]>): Variant[] {
  const { seed, reference } = task;
  const random = seededRandom(seed);
  const skill = new Set(task.skillCalls);
  const ofSkill = new Set(
    reference
      .filter((_, position) => skill.has(position))
      .flatMap((move) => Object.values(asCall(move).arguments).map((value) => JSON.stringify(value))),
  );
  const replaced = reference.flatMap((move, position) =>
    withOneWrongArgument(move, values, random)
      .filter(({ right }) => skill.has(position) || !ofSkill.has(JSON.stringify(right)))
      .map(({ move: wrong }): Variant => ({
        task,
        seed,
        moves: reference.map((right, index) => (index === position ? wrong : right)),
        wrong: skill.has(position) ? 'skill' : 'rest',
        about: `with ${shown(wrong)} in the place of move ${position}, ${shown(move)}`,
      })),
  );
  const left = reference.filter((_, position) => !skill.has(position));
  return [...replaced, { task, seed, moves: left, wrong: 'skill', about: 'with the moves of "skill_calls" left out' }];
}
