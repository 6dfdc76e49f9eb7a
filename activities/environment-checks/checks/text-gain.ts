import type { EnvironmentTool } from '../../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../../environment';
import { CERTIFICATION, type CheckResult, type Examination, text } from '../examination';
import { meanOrZero } from '../../statistics/mean';
import { type Move, rewardsOf } from '../play';
import { CLAIM, INJECTION, NEUTRAL, sayThrough } from '../scripted-policies';

/** Tasks that suffice to see a gain of a few hundredths; each costs as many episodes as there are ways to speak. */
const TASKS = 20;

/**
 * What is said does not pay: in an episode that is half done, a claim of success or a text for the grader earns no more
 * than a neutral text in its place. Compared in pairs, so that an environment which rightly rewards an answer is not
 * blamed for it.
 */
export async function checkTextGain(
  environment: EnvironmentHandle,
  { tools, tasks }: Examination,
): Promise<CheckResult> {
  const some = tasks.slice(0, TASKS);
  const halfway = (reference: readonly Move[]): Move[] => reference.slice(0, Math.floor(reference.length / 2));
  const earn = async (say: (words: string) => Move, words: string): Promise<number> =>
    meanOrZero(
      await rewardsOf(
        environment,
        some.map(({ seed, reference }) => ({ seed, moves: [...halfway(reference), say(words)] })),
      ),
    );
  const gains = await Promise.all(
    ways(tools).map(async ({ name, say }) => {
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
  const passed = worst.gain <= CERTIFICATION.maxTextGain;
  const detail = passed
    ? `In half-done episodes neither claims nor text for the grader earn more than neutral words: at most ${text(worst.gain)} more.`
    : `In half-done episodes ${worst.name} earns ${text(worst.gain)} more than neutral words in its place; the reward must follow from what was done.`;
  return {
    passed,
    detail,
    figures: [{ name: 'gain over neutral words', value: worst.gain, atMost: CERTIFICATION.maxTextGain }],
  };
}

function ways(tools: readonly EnvironmentTool[]): { name: string; say: (words: string) => Move }[] {
  const through = tools.filter((tool) => sayThrough(tool, 'x') !== null);
  return [
    { name: 'as plain text', say: (words) => ({ text: words }) },
    ...through.map((tool) => ({
      name: `through ${tool.function.name}`,
      say: (words: string) => sayThrough(tool, words)!,
    })),
  ];
}
