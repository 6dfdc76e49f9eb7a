/** Verdicts that a handful of tasks allow, where a contrast of rates has too few of them. */
import { mean } from '../../statistics/mean';
import { LABEL_CODES } from '../verdicts/label-codes';
import { successChance } from './causes-of-failure';
import type { LabelledEpisodes } from './labelled-episodes';

/**
 * What a lack that decides must show: so many tasks that lack it, so many that succeed and show it, so much more risk
 * than the other lacks explain, and this share of the least coverage.
 */
const DECISIVE = { lackingTasks: 5, shownTasks: 2, excessRisk: 0.5, coverage: 0.5 };
/**
 * Fewest episodes and tasks that call for a capability before it is said that the agent never shows it, and the share
 * of these episodes that may be labelled otherwise by mistake.
 */
const NEVER_SHOWN = { episodes: 20, tasks: 10, mistakes: 0.05 };

/**
 * Whether the lack of `candidate` decides its episodes: they fail much more often than the other lacks of the same
 * episodes explain, and episodes that show it succeed. It serves needs that are too rare for a contrast. `error` bounds
 * the chance of saying so without such an effect, if a task's first episode with the lack stands for the task.
 */
export function lackDecides(
  episodes: LabelledEpisodes,
  candidate: number,
  error: number,
  minCoverage: number,
): boolean {
  const { labels, lacks, failed, outcomes, causes } = episodes;
  const lacking = new Map<number, { failed: number; risk: number }>();
  const shown = new Set<number>();
  let covered = 0;
  labels[candidate]!.forEach((code, i) => {
    const task = outcomes.task[i]!;
    if (code === LABEL_CODES.PRESENT && failed[i] === 0) shown.add(task);
    if (code === LABEL_CODES.LACKING) covered += failed[i]!;
    if (code === LABEL_CODES.LACKING && !lacking.has(task))
      lacking.set(task, { failed: failed[i]!, risk: 1 - successChance(causes, lacks, i, candidate) });
  });
  const failures = failed.reduce((sum, value) => sum + value, 0);
  if (covered < DECISIVE.coverage * minCoverage * failures) return false;
  const tasks = [...lacking.values()];
  if (tasks.length < DECISIVE.lackingTasks || shown.size < DECISIVE.shownTasks) return false;
  if (mean(tasks.map(({ failed, risk }) => failed - risk)) < DECISIVE.excessRisk) return false;
  return (
    chanceOfAtLeast(
      tasks.reduce((sum, { failed }) => sum + failed, 0),
      tasks.map(({ risk }) => risk),
    ) <= error
  );
}

/**
 * Number of episodes that call for `candidate` if the agent never shows it there, although they are many and fail more
 * often than the other lacks explain; else null. Training has then no success to learn from.
 */
export function neverShown(episodes: LabelledEpisodes, candidate: number, error: number): number | null {
  const { labels, lacks, failed, outcomes, causes } = episodes;
  const calledFor = Array.from(labels[candidate]!.keys()).filter((i) => labels[candidate]![i]! >= LABEL_CODES.PRESENT);
  const never = calledFor.filter((i) => lacks[candidate]![i] === 1 && failed[i] === 1);
  const risks = new Map(never.map((i) => [outcomes.task[i]!, 1 - successChance(causes, lacks, i, candidate)] as const));
  if (calledFor.length < NEVER_SHOWN.episodes || risks.size < NEVER_SHOWN.tasks) return null;
  if (calledFor.length - never.length > NEVER_SHOWN.mistakes * calledFor.length) return null;
  return chanceOfAtLeast(risks.size, [...risks.values()]) <= error ? calledFor.length : null;
}

/** P(at least `count` of independent events with these probabilities happen). */
function chanceOfAtLeast(count: number, probabilities: readonly number[]): number {
  // By the number of events so far; the last cell is "count or more".
  const chances = new Float64Array(count + 1);
  chances[0] = 1;
  for (const p of probabilities)
    for (let k = count; k >= 0; k--)
      chances[k] = (k === count ? chances[k]! : chances[k]! * (1 - p)) + (k > 0 ? chances[k - 1]! * p : 0);
  return chances[count]!;
}
