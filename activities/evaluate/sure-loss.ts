import type { Evaluation } from '../../contracts/artifacts/evaluation';
import { chanceOfAtLeast } from '../statistics/exact-tails';
import { mean } from '../statistics/mean';
import type { ArmTable } from './outcome-table';

/**
 * Tasks that base passes in all of its trials and `arm` in none. The net loss of `regressionAgainstBase` can hide them,
 * because tasks that base passes by luck gain and pay for them. `choices` has the router's choice for each task.
 *
 * Luck alone loses some: a task that base passes half the time passes twice, and then fails twice, now and then. That
 * share is computed for an arm with base's chance on every task. The chances are a beta distribution with the mean and
 * variance of base's results. Null with one trial, or if base passes no task in all trials.
 */
export function sureLoss(base: ArmTable, arm: ArmTable, choices: readonly string[]): Evaluation['sureLoss'] {
  const trials = base.passes[0]?.length ?? 0;
  if (trials < 2) return null;
  const sure = Array.from(base.passes.keys()).filter((task) => base.passes[task]!.every((pass) => pass === 1));
  if (sure.length === 0) return null;
  const lost = sure.filter((task) => arm.passes[task]!.every((pass) => pass === 0));
  const counts = new Map<string, number>();
  for (const task of lost) counts.set(choices[task]!, (counts.get(choices[task]!) ?? 0) + 1);
  const luck = lostByLuck(base.passes.map(mean), trials);
  return {
    tasks: sure.length,
    lost: lost.length,
    luck,
    chance: chanceOfAtLeast(lost.length, Array<number>(sure.length).fill(luck)),
    byCapability: [...counts]
      .map(([capabilityId, count]) => ({ capabilityId, lost: count }))
      .sort((a, b) => b.lost - a.lost || (a.capabilityId < b.capabilityId ? -1 : 1)),
  };
}

/** P(no pass in `trials` more trials | all of `trials` passed), if a task's chance is beta distributed. */
function lostByLuck(rates: readonly number[], trials: number): number {
  const centre = mean(rates);
  const variance = mean(rates.map((rate) => (rate - centre) ** 2));
  const binomial = centre * (1 - centre);
  if (binomial === 0) return 0;
  // Variance of a share of n trials: p (1 - p) (1 + (n - 1) r) / n, with the correlation r = 1 / (a + b + 1).
  const correlation = Math.min(1 - 1e-6, Math.max(1e-6, ((variance * trials) / binomial - 1) / (trials - 1)));
  const size = 1 / correlation - 1;
  const [a, b] = [centre * size, (1 - centre) * size];
  let chance = 1;
  for (let i = 0; i < trials; i++) chance *= (b + i) / (a + b + trials + i);
  return chance;
}
