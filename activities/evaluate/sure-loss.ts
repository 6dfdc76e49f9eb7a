import type { Evaluation } from '../../contracts/artifacts/evaluation';
import { chanceOfAtLeast } from '../../contracts/statistics/exact-tails';
import { mean } from '../statistics/mean';
import { type ArmTable, playedOf } from './outcome-table';

/**
 * Tasks that base passes in all of its trials and `arm` in none. The net loss of `regressionAgainstBase` can hide them,
 * because tasks that base passes by luck gain and pay for them. `choices` has the router's choice for each task.
 *
 * Luck alone loses some: a task that base passes half the time passes twice, and then fails twice, now and then. That
 * share is computed for an arm with base's chance on every task. The chances are a beta distribution with the mean and
 * variance of base's results. Null with one trial, or if base passes no task in all trials.
 *
 * Trials that failed do not count. A task needs two others in both arms, and their number decides its share by luck.
 */
export function sureLoss(base: ArmTable, arm: ArmTable, choices: readonly string[]): Evaluation['sureLoss'] {
  const trials = base.passes[0]?.length ?? 0;
  if (trials < 2) return null;
  const [before, after] = [base.passes.map(playedOf), arm.passes.map(playedOf)];
  const sure = before.flatMap((passes, task) =>
    Math.min(passes.length, after[task]!.length) >= 2 && passes.every((pass) => pass === 1) ? [task] : [],
  );
  if (sure.length === 0) return null;
  const lost = sure.filter((task) => after[task]!.every((pass) => pass === 0));
  const counts = new Map<string, number>();
  for (const task of lost) counts.set(choices[task]!, (counts.get(choices[task]!) ?? 0) + 1);
  const lostByLuck = luckFrom(before);
  const luck = sure.map((task) => lostByLuck(before[task]!.length, after[task]!.length));
  return {
    tasks: sure.length,
    lost: lost.length,
    luck: luck.every((share) => share === luck[0]) ? luck[0]! : mean(luck),
    chance: chanceOfAtLeast(lost.length, luck),
    byCapability: [...counts]
      .map(([capabilityId, count]) => ({ capabilityId, lost: count }))
      .sort((a, b) => b.lost - a.lost || (a.capabilityId < b.capabilityId ? -1 : 1)),
  };
}

/**
 * P(no pass in `after` more trials | all of `before` trials passed), if a task's chance is beta distributed. `passes`
 * are base's results by task.
 */
function luckFrom(passes: readonly (readonly number[])[]): (before: number, after: number) => number {
  const rates = passes.map(mean);
  const centre = mean(rates);
  const variance = mean(rates.map((rate) => (rate - centre) ** 2));
  const binomial = centre * (1 - centre);
  if (binomial === 0) return () => 0;
  // Variance of a share of n trials: p (1 - p) (r + (1 - r) / n), with the correlation r = 1 / (a + b + 1). Tasks
  // differ in n, and the mean of 1 / n stands for it.
  const first = passes[0]!.length;
  const trials = passes.every(({ length }) => length === first)
    ? first
    : 1 / mean(passes.map(({ length }) => 1 / length));
  const observed = trials > 1 ? ((variance * trials) / binomial - 1) / (trials - 1) : 0;
  const correlation = Math.min(1 - 1e-6, Math.max(1e-6, observed));
  const size = 1 / correlation - 1;
  const [a, b] = [centre * size, (1 - centre) * size];
  return (before, after) => {
    let chance = 1;
    for (let i = 0; i < after; i++) chance *= (b + i) / (a + b + before + i);
    return chance;
  };
}
