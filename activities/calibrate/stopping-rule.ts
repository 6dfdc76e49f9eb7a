import type { AgentSpec } from '../../contracts/config/agent-spec';
import { mean, populationDeviation } from '../statistics/mean';
import { studentTail } from '../statistics/student';
import { FEWEST_COMPARED } from './seed-ranges';

/** The band of agent.yaml, and the reward from which an episode counts as a success. */
export type CalibrationThresholds = Omit<AgentSpec['calibration'], 'seeds' | 'rolloutsPerSeed'> & {
  successReward: number;
};

/** Limits on the number of a calibration's rollouts, their portions, and the rule for stopping early. */
export interface CalibrationDesign {
  /** Tasks of the fixed design; a calibration never uses more. */
  seeds: number;
  /** Rollouts of each task in the fixed design; no task gets more. */
  rolloutsPerSeed: number;
  /**
   * Number of rollouts that every task gets at first. The means use only these, unless every task has `rolloutsPerSeed`
   * in the end.
   */
  first: number;
  /** Number of tasks begun between two checks of the verdict. */
  block: number;
  /** Calibration stops when the rest of the fixed design would change the verdict with at most this probability. */
  doubt: number;
}

/** Number of further rollouts that a task gets at a time until it is settled. */
const EXTENSION = 4;
/** Weight of the prior variance, in tasks: ten tasks that happen to agree do not prove that all tasks agree. */
const PRIOR_TASKS = 4;

/** The design derived from `calibration` of agent.yaml. */
export function calibrationDesign({
  seeds,
  rolloutsPerSeed,
}: Pick<CalibrationDesign, 'seeds' | 'rolloutsPerSeed'>): CalibrationDesign {
  return {
    seeds,
    rolloutsPerSeed,
    first: Math.ceil(rolloutsPerSeed / 2),
    block: Math.max(8, Math.ceil(seeds / 10)),
    doubt: 0.01,
  };
}

/**
 * The next rollouts: tasks, counted from 0, with the total number of rollouts for each. Null when the verdict is
 * certain enough or the fixed design is complete.
 *
 * Two rules save rollouts. A task whose group is settled (see `isSettled`) gets no more rollouts, because they could
 * not change any share of groups. No further task is begun once the verdict is certain enough (see `verdictDoubt`):
 * stochastic curtailment by predictive probability (Lan, Simon and Halperin 1982, Sequential Analysis 1:207-219; Lee
 * and Liu 2008, Clinical Trials 5:93-106). The number of later rollouts depends on the first ones, so counting them
 * would bias the means. The means use only each task's first rollouts.
 * @param groups rewards of the tasks so far, in order.
 */
export function nextRollouts(
  groups: readonly (readonly number[])[],
  design: CalibrationDesign,
  thresholds: CalibrationThresholds,
): { group: number; upTo: number }[] | null {
  const { seeds, rolloutsPerSeed, first, block } = design;
  const open = groups.flatMap((rewards, group) =>
    isSettled(rewards, rolloutsPerSeed, thresholds)
      ? []
      : [{ group, upTo: Math.min(rolloutsPerSeed, rewards.length + EXTENSION) }],
  );
  if (open.length > 0) return open;
  if (groups.length > 0 && isCertain(groups, design, thresholds)) return null;
  if (groups.length < seeds)
    return Array.from({ length: Math.min(block, seeds - groups.length) }, (_, index) => ({
      group: groups.length + index,
      upTo: first,
    }));
  const rest = groups.flatMap((rewards, group) =>
    rewards.length < rolloutsPerSeed ? [{ group, upTo: rolloutsPerSeed }] : [],
  );
  return rest.length > 0 ? rest : null;
}

/** Whether no further task is needed. "In band" requires enough tasks to compare both seed ranges. */
function isCertain(
  groups: readonly (readonly number[])[],
  design: CalibrationDesign,
  thresholds: CalibrationThresholds,
): boolean {
  const { inBand, doubt } = verdictDoubt(groups, design, thresholds);
  return doubt <= design.doubt && (!inBand || groups.length >= Math.min(design.seeds, 2 * FEWEST_COMPARED));
}

/** The number of rollouts of each task that the means use. */
export function rolloutsInMeans(
  groups: readonly (readonly number[])[],
  { rolloutsPerSeed, first }: Pick<CalibrationDesign, 'rolloutsPerSeed' | 'first'>,
): number {
  return groups.every((rewards) => rewards.length >= rolloutsPerSeed) ? rolloutsPerSeed : first;
}

/**
 * Whether further rollouts of a task cannot change how its group counts. It holds for a group with a success, a failure
 * and a large enough deviation. Such a group would stay informative even if all further rewards were equal to their
 * mean. It is informative, and neither constant nor all success nor all zero. With any larger number of rollouts it
 * still has a success.
 */
export function isSettled(
  rewards: readonly number[],
  rolloutsPerSeed: number,
  { successReward, minRewardStd }: CalibrationThresholds,
): boolean {
  if (rewards.length >= rolloutsPerSeed) return true;
  const successes = rewards.filter((reward) => reward >= successReward).length;
  if (successes === 0 || successes === rewards.length) return false;
  return populationDeviation(rewards) * Math.sqrt(rewards.length / rolloutsPerSeed) >= minRewardStd;
}

/**
 * Upper bound of the probability that the rest of the fixed design would change the verdict. The beta-binomial
 * distribution with Jeffreys' prior predicts shares of groups. Student's t with a moderated variance predicts means.
 * For the verdict "in band" the bound is the sum of the probabilities of missing each threshold. For any other verdict
 * the bound is the probability that the threshold missed by most would be met after all.
 */
export function verdictDoubt(
  groups: readonly (readonly number[])[],
  design: CalibrationDesign,
  thresholds: CalibrationThresholds,
): { inBand: boolean; doubt: number } {
  const { seeds, rolloutsPerSeed } = design;
  const { successReward, minRewardStd } = thresholds;
  const n = groups.length;
  const first = rolloutsInMeans(groups, design);
  const heads = groups.map((rewards) => rewards.slice(0, first));
  const outside = (values: readonly (readonly number[])[], range: readonly [number, number]): number =>
    meanOutside(values, seeds, rolloutsPerSeed, range);
  const above = (test: (group: readonly number[]) => boolean, limit: number): number =>
    shareAbove(groups.filter(test).length, n, seeds, limit);
  const successes = heads.map((rewards) => rewards.map((reward) => Number(reward >= successReward)));
  const missed = [
    outside(heads, thresholds.meanReward),
    outside(successes, thresholds.meanSuccess),
    above((group) => group.every((reward) => reward >= successReward), thresholds.maxAllSuccessGroups),
    above((group) => group.every((reward) => reward === 0), thresholds.maxAllZeroGroups),
    above((group) => group.every((reward) => reward === group[0]), thresholds.maxConstantGroups),
    above((group) => populationDeviation(group) < minRewardStd, 1 - thresholds.minInformativeGroups),
    deviationBelow(populationDeviation(heads.flat()), heads, seeds, minRewardStd),
  ];
  const inBand = missed.every((probability) => probability < 0.5);
  if (n >= seeds && first === rolloutsPerSeed) return { inBand, doubt: 0 };
  const any = missed.reduce((sum, probability) => sum + probability, 0);
  return { inBand, doubt: inBand ? Math.min(1, any) : 1 - Math.max(...missed) };
}

/**
 * Probability that the final share of counting groups among all `total` is above the limit. So far, `count` of the
 * first `n` groups count.
 */
export function shareAbove(count: number, n: number, total: number, limit: number): number {
  const rest = total - n;
  const [a, b] = [count + 0.5, n - count + 0.5];
  // Recurrence of the beta-binomial probabilities. It starts from the probability that no remaining group counts.
  let probability = 1;
  for (let i = 0; i < rest; i++) probability *= (b + i) / (a + b + i);
  let within = 0;
  for (let k = 0; k <= rest && count + k <= limit * total + 1e-9; k++) {
    within += probability;
    probability *= ((rest - k) / (k + 1)) * ((a + k) / (b + rest - k - 1));
  }
  return Math.min(1, Math.max(0, 1 - within));
}

/**
 * Probability that the mean of the fixed design ends outside the range. Two things are unknown: whole tasks, with the
 * variance seen between tasks, and further rollouts of tasks already begun, with the variance seen within tasks.
 */
function meanOutside(
  heads: readonly (readonly number[])[],
  total: number,
  rolloutsPerSeed: number,
  [low, high]: readonly [number, number],
): number {
  const n = heads.length;
  const own = n - 1;
  const length = heads[0]!.length;
  const values = heads.map(mean);
  const centre = mean(values);
  const between = populationDeviation(values) ** 2 * (n / Math.max(1, own));
  const within =
    length > 1
      ? mean(heads.map((head) => populationDeviation(head) ** 2)) * (length / (length - 1))
      : centre * (1 - centre);
  const beyond = (limit: number, distance: number): number => {
    // No mean of rewards in [0, 1] can pass such a limit.
    if (limit <= 0 || limit >= 1) return 0;
    const moderated = (own * between + PRIOR_TASKS * limit * (1 - limit)) / (own + PRIOR_TASKS);
    const variance =
      (moderated * (total - n)) / (n * total) + (within * n * (1 / length - 1 / rolloutsPerSeed)) / total ** 2;
    return studentTail(distance / Math.sqrt(variance || Number.EPSILON), own + PRIOR_TASKS);
  };
  return beyond(low, centre - low) + beyond(high, high - centre);
}

/**
 * Probability that the standard deviation of all rewards ends below the limit, with a jackknife variance over tasks.
 */
function deviationBelow(found: number, heads: readonly (readonly number[])[], total: number, limit: number): number {
  if (limit <= 0) return 0;
  const n = heads.length;
  if (n < 2) return 0.5;
  const sums = heads.map((rewards) => ({
    count: rewards.length,
    sum: rewards.reduce((a, b) => a + b, 0),
    squares: rewards.reduce((a, b) => a + b * b, 0),
  }));
  const all = sums.reduce((a, b) => ({ count: a.count + b.count, sum: a.sum + b.sum, squares: a.squares + b.squares }));
  // The standard deviation without each task in turn.
  const without = sums.map(({ count, sum, squares }) => {
    const left = all.count - count;
    return Math.sqrt(Math.max(0, (all.squares - squares) / left - ((all.sum - sum) / left) ** 2));
  });
  const centre = mean(without);
  const variance = ((n - 1) / n) * without.reduce((sum, value) => sum + (value - centre) ** 2, 0);
  const spread = Math.sqrt((variance * (total - n)) / total) || Number.EPSILON;
  return studentTail((found - limit) / spread, Math.max(4, n - 1));
}
