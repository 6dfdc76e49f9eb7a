/** Verdicts that a handful of tasks allow, where a contrast of rates has too few of them. */
import { chanceOfAtLeast, fisherExact } from '../../../contracts/statistics/exact-tails';
import { DECISIVE } from '../../../contracts/statistics/rarest-need';
import { mean } from '../../statistics/mean';
import { LABEL_CODES } from '../verdicts/label-codes';
import { successChance } from './causes-of-failure';
import type { LabelledEpisodes } from './labelled-episodes';

/**
 * Fewest episodes and tasks that call for a capability before it is said that the agent hardly ever shows it, and the
 * largest share of these episodes that show it or succeed: a few wrong labels must not hide the finding.
 */
const HARDLY_SHOWN = { episodes: 20, tasks: 10, exceptions: 0.05 };

/**
 * Whether the lack of `candidate` decides its episodes. It serves needs that are too rare for a contrast. Tasks that
 * lack it fail much more often than their other lacks explain, and more often than tasks that show it (Fisher's exact
 * test). Each task counts once, by its first episode of the kind. `error` is the level of both tests.
 */
export function lackDecides(
  { labels, lacks, failed, outcomes, causes }: LabelledEpisodes,
  candidate: number,
  error: number,
  minCoverage: number,
): boolean {
  const lacking = new Map<number, { failed: number; risk: number }>();
  const shown = new Map<number, number>();
  let covered = 0;
  labels[candidate]!.forEach((code, i) => {
    const task = outcomes.task[i]!;
    if (code === LABEL_CODES.PRESENT && !shown.has(task)) shown.set(task, failed[i]!);
    if (code !== LABEL_CODES.LACKING) return;
    covered += failed[i]!;
    if (!lacking.has(task))
      lacking.set(task, { failed: failed[i]!, risk: 1 - successChance(causes, lacks, i, candidate) });
  });
  const failures = failed.reduce((sum, value) => sum + value, 0);
  const tasks = [...lacking.values()];
  if (covered < DECISIVE.coverage * minCoverage * failures || tasks.length < DECISIVE.lackingTasks) return false;
  if (mean(tasks.map(({ failed, risk }) => failed - risk)) < DECISIVE.excessRisk) return false;
  const withLack = { events: tasks.reduce((sum, { failed }) => sum + failed, 0), trials: tasks.length };
  const without = { events: [...shown.values()].reduce((sum, value) => sum + value, 0), trials: shown.size };
  const risks = tasks.map(({ risk }) => risk);
  return chanceOfAtLeast(withLack.events, risks) <= error && fisherExact(withLack, without) <= error;
}

/** Episodes that call for a capability, and those of them that show it or succeed. */
export interface HardlyShown {
  calledFor: number;
  exceptions: number;
}

/**
 * Counts the episodes that call for `candidate`, if the agent lacks it in nearly all of them and fails, more often than
 * the other lacks explain; else null. Training has then no success to learn from.
 */
export function hardlyShown(
  { labels, lacks, failed, outcomes, causes }: LabelledEpisodes,
  candidate: number,
  error: number,
): HardlyShown | null {
  const calledFor = Array.from(labels[candidate]!.keys()).filter((i) => labels[candidate]![i]! >= LABEL_CODES.PRESENT);
  const never = calledFor.filter((i) => lacks[candidate]![i] === 1 && failed[i] === 1);
  const risks = new Map(never.map((i) => [outcomes.task[i]!, 1 - successChance(causes, lacks, i, candidate)] as const));
  if (calledFor.length < HARDLY_SHOWN.episodes || risks.size < HARDLY_SHOWN.tasks) return null;
  const exceptions = calledFor.length - never.length;
  if (exceptions > HARDLY_SHOWN.exceptions * calledFor.length) return null;
  const allByOthers = [...risks.values()].reduce((chance, risk) => chance * risk, 1);
  return allByOthers <= error ? { calledFor: calledFor.length, exceptions } : null;
}
