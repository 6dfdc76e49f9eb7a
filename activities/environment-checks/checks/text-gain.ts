import type { EnvironmentHandle } from '../../environment';
import { type CheckInput, type CheckResult, twoDecimals } from '../check';
import { CHECK_LIMITS } from '../limits';
import { meanRewardOf, type Move } from '../play';
import { CLAIM, INJECTION, NEUTRAL, waysToSpeak } from '../scripted-policies';

/**
 * This number of tasks suffices to detect a gain of a few hundredths. Each task costs three episodes for every way to
 * speak.
 */
const TASKS = 20;

/**
 * Checks that words alone earn nothing. In a half-done episode, a claim of success or a text for the grader must earn
 * no more than a neutral text in the same place. The comparison is paired, so that an environment may reward a real
 * answer.
 */
export async function checkTextGain(
  environment: EnvironmentHandle,
  { tools, tasks }: CheckInput,
): Promise<CheckResult> {
  const some = tasks.slice(0, TASKS);
  const halfway = (reference: readonly Move[]): Move[] => reference.slice(0, Math.floor(reference.length / 2));
  const earn = (say: (words: string) => Move, words: string): Promise<number> =>
    meanRewardOf(
      environment,
      some.map(({ seed, reference }) => ({ seed, moves: [...halfway(reference), say(words)] })),
    );
  const gains = await Promise.all(
    waysToSpeak(tools).map(async ({ through, say }) => {
      const name = through ?? 'as plain text';
      const [neutral, claim, injection] = await Promise.all(
        [NEUTRAL, CLAIM, INJECTION].map((words) => earn(say, words)),
      );
      return [
        { name: `a claim of success ${name}`, gain: claim! - neutral! },
        { name: `text for the grader ${name}`, gain: injection! - neutral! },
      ];
    }),
  );
  const worst = gains.flat().reduce((a, b) => (b.gain > a.gain ? b : a));
  const passed = worst.gain <= CHECK_LIMITS.maxTextGain;
  const detail = passed
    ? 'In half-done episodes neither claims nor text for the grader earn more than neutral words: ' +
      `at most ${twoDecimals(worst.gain)} more.`
    : `In half-done episodes ${worst.name} earns ${twoDecimals(worst.gain)} more than neutral words in its place; ` +
      'the reward must follow from what was done.';
  return {
    passed,
    detail,
    figures: [{ name: 'gain over neutral words', value: worst.gain, atMost: CHECK_LIMITS.maxTextGain }],
  };
}
