import { type CheckResult, resultOf, wholePercent } from '../check';
import { type EnvironmentTask, promptOf } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import type { TargetProfile } from '../target-profile';
import { spacedWords, wordRuns, wordsOf } from '../words';
import { wilson } from '../../statistics/intervals';

/**
 * Length of a word run that two texts do not share by chance (Brown et al. 2020, appendix C: 13). A shorter text is one
 * run.
 */
const RUN_WORDS = 13;
/** Shorter texts, in words, are too common to prove anything. */
const SHORTEST = 8;

/**
 * Checks that the environment contains nothing of the held-out tasks. The source may contain no word run of a held-out
 * task, unless train tasks have the same run. The environment may not repeat held-out tasks word for word much more
 * often than train tasks. Some agree by chance if both come from templates, so the lower end of the 95 % interval of
 * their share is compared with the limit.
 * @param tasks all tasks that were read.
 */
export function checkHeldOutText(
  source: string,
  tasks: readonly EnvironmentTask[],
  target: TargetProfile,
): CheckResult {
  const train = target.train.map(runsOf);
  const heldOut = target.heldOut.map(runsOf);
  // A run that also occurs in train tasks may come from the analyst's evidence.
  const known = new Set(train.flat());
  const written = spacedWords(source);
  const openings = tasks.map((task) => spacedWords(promptOf(task)));
  const inSource = heldOut.filter((runs) => runs.some((run) => !known.has(run) && written.includes(` ${run} `))).length;
  const shareAsked = (texts: readonly (readonly string[])[]): number =>
    texts.filter(
      (runs) => runs.length > 0 && openings.some((opening) => runs.every((run) => opening.includes(` ${run} `))),
    ).length / Math.max(1, texts.length);
  const [share, usual] = [shareAsked(heldOut), shareAsked(train)];
  const limit = Math.max(CHECK_LIMITS.maxHeldOutTexts, CHECK_LIMITS.maxHeldOutFactor * usual);
  // Chance makes a few: the lower end of the 95 % interval must be above the limit.
  const { low } = wilson(share, Math.max(1, heldOut.length));
  const figures = [
    { name: 'held-out texts in the source', value: inSource, atMost: 0 },
    { name: 'share of held-out texts asked (lower end)', value: low, atMost: limit },
  ];
  const asked = `${wholePercent(share)} of the held-out tasks are asked word for word`;
  const problems = [
    ...(inSource > 0 ? [`The source holds the text of ${inSource} of ${heldOut.length} held-out tasks.`] : []),
    ...(low > limit
      ? [
          `${asked}, of the train tasks ${wholePercent(usual)}. At least ${(100 * low).toFixed(1)} % are no chance, and ` +
            `${(100 * limit).toFixed(1)} % are allowed.`,
        ]
      : []),
  ];
  const fine =
    `None of ${heldOut.length} held-out tasks stands in the source; ` +
    `${wholePercent(share)} are asked word for word, of the train tasks ${wholePercent(usual)}.`;
  return resultOf(problems, fine, figures);
}

function runsOf(text: string): string[] {
  const words = wordsOf(text);
  return words.length < SHORTEST ? [] : [...wordRuns(words, RUN_WORDS)];
}
