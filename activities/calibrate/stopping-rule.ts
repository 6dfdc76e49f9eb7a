import type { AgentSpec } from '../../contracts/config/agent-spec';
import { mean, populationDeviation } from '../statistics/mean';
import { studentTail } from '../statistics/student';

/** The band, and what counts as a success. */
export type CalibrationThresholds = Omit<AgentSpec['calibration'], 'seeds' | 'rolloutsPerSeed'> & {
  successReward: number;
};

/** How many rollouts a calibration may make, and in which portions. */
export interface CalibrationDesign {
  /** Tasks at most: the fixed design's. */
  seeds: number;
  /** Rollouts of a task at most: the fixed design's. */
  rolloutsPerSeed: number;
  /**
   * Rollouts that every task gets at first; the means are taken over these alone, unless every task has all of its
   * rollouts in the end.
   */
  first: number;
  /** Tasks that are begun between two looks. */
  block: number;
  /** Highest probability, at a look, that the rest of the fixed design would change the verdict. */
  doubt: number;
}

/** Rollouts by which a task that is not settled goes on. */
const EXTENSION = 4;
/**
 * Weight, in tasks, of the variance that is assumed before any was seen: ten tasks that happen to agree are no proof
 * that all do.
 */
const PRIOR_TASKS = 4;

/** The design that `calibration` of agent.yaml means. */
export function calibrationDesign({
  seeds,
  rolloutsPerSeed,
}: {
  seeds: number;
  rolloutsPerSeed: number;
}): CalibrationDesign {
  return {
    seeds,
    rolloutsPerSeed,
    first: Math.ceil(rolloutsPerSeed / 2),
    block: Math.max(8, Math.ceil(seeds / 10)),
    doubt: 0.01,
  };
}

/**
 * The rollouts to make next: tasks, counted from 0, and up to how many rollouts each; null when the verdict is certain
 * or the fixed design is exhausted. So a calibration either stops early or is the fixed design.
 *
 * Two things are saved. A task whose group is settled (see `isSettled`) needs no further rollouts, because nothing that
 * its group counts for can change. And nothing more is begun once the verdict is certain (see `verdictDoubt`):
 * stochastic curtailment by predictive probability (Lan, Simon and Halperin 1982, Sequential Analysis 1:207-219; Lee
 * and Liu 2008, Clinical Trials 5:93-106). The means are taken over each task's first rollouts only: how many follow
 * depends on what these were, and would bias them.
 * @param groups rewards of the tasks begun so far, in order.
 */
export function nextRollouts(
  groups: readonly (readonly number[])[],
  design: CalibrationDesign,
  thresholds: CalibrationThresholds,
): { group: number; upTo: number }[] | null {
  const { seeds, rolloutsPerSeed, first, block, doubt } = design;
  const open = groups.flatMap((rewards, group) =>
    isSettled(rewards, rolloutsPerSeed, thresholds)
      ? []
      : [{ group, upTo: Math.min(rolloutsPerSeed, rewards.length + EXTENSION) }],
  );
  if (open.length > 0) return open;
  if (groups.length > 0 && verdictDoubt(groups, design, thresholds) <= doubt) return null;
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

/** How many rollouts of each task the means are taken over. */
export function headLength(
  groups: readonly (readonly number[])[],
  { rolloutsPerSeed, first }: Pick<CalibrationDesign, 'rolloutsPerSeed' | 'first'>,
): number {
  return groups.every((rewards) => rewards.length >= rolloutsPerSeed) ? rolloutsPerSeed : first;
}

/**
 * Whether further rollouts of a task change nothing that its group counts for: it has a success and a failure, and its
 * rewards deviate so much that they would still when all the rest were their mean. Then it is neither constant nor all
 * success nor all zero, it is informative, and it has a success among any larger number of rollouts.
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
 * Upper bound of the probability that the rest of the fixed design would change the verdict. For shares of groups the
 * rest is beta-binomial with Jeffreys' prior, for means it is Student's t with a moderated variance. The verdict "in
 * band" is doubtful as far as any threshold may still be missed (the probabilities add up); any other as far as the
 * clearest of the missed thresholds may still be met.
 */
export function verdictDoubt(
  groups: readonly (readonly number[])[],
  design: CalibrationDesign,
  thresholds: CalibrationThresholds,
): number {
  const { seeds, rolloutsPerSeed } = design;
  const { successReward, minRewardStd } = thresholds;
  const n = groups.length;
  const first = headLength(groups, design);
  if (n >= seeds && first === rolloutsPerSeed) return 0;
  const heads = groups.map((rewards) => rewards.slice(0, first));
  const outside = (values: readonly (readonly number[])[], range: readonly [number, number]): number =>
    meanOutside(values, seeds, rolloutsPerSeed, range);
  const count = (test: (group: readonly number[]) => boolean): number => groups.filter(test).length;
  const successes = heads.map((rewards) => rewards.map((reward) => Number(reward >= successReward)));
  const missed = [
    outside(heads, thresholds.meanReward),
    outside(successes, thresholds.meanSuccess),
    shareAbove(
      count((group) => group.every((reward) => reward >= successReward)),
      n,
      seeds,
      thresholds.maxAllSuccessGroups,
    ),
    shareAbove(
      count((group) => group.every((reward) => reward === 0)),
      n,
      seeds,
      thresholds.maxAllZeroGroups,
    ),
    shareAbove(
      count((group) => group.every((reward) => reward === group[0])),
      n,
      seeds,
      thresholds.maxConstantGroups,
    ),
    shareAbove(
      count((group) => populationDeviation(group) < minRewardStd),
      n,
      seeds,
      1 - thresholds.minInformativeGroups,
    ),
    deviationBelow(populationDeviation(heads.flat()), heads, seeds, minRewardStd),
  ];
  const inBand = missed.every((probability) => probability < 0.5);
  return inBand
    ? Math.min(
        1,
        missed.reduce((sum, probability) => sum + probability, 0),
      )
    : 1 - Math.max(...missed);
}

/** P(the share of all `total` groups ends above the limit), after `count` of `n`. */
export function shareAbove(count: number, n: number, total: number, limit: number): number {
  const rest = total - n;
  const [a, b] = [count + 0.5, n - count + 0.5];
  // The beta-binomial's probabilities by their recurrence, from P(none of the rest).
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
 * P(the mean of the fixed design ends outside the range). What is still to come are whole tasks, with the variance
 * found between tasks, and the rest of the rollouts of those begun, with the variance found within them.
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
    // A limit that no mean can pass is none.
    if (limit <= 0 || limit >= 1) return 0;
    const moderated = (own * between + PRIOR_TASKS * limit * (1 - limit)) / (own + PRIOR_TASKS);
    const variance =
      (moderated * (total - n)) / (n * total) + (within * n * (1 / length - 1 / rolloutsPerSeed)) / total ** 2;
    return studentTail(distance / Math.sqrt(variance || Number.EPSILON), own + PRIOR_TASKS);
  };
  return beyond(low, centre - low) + beyond(high, high - centre);
}

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
  // Jackknife over tasks.
  const without = sums.map(({ count, sum, squares }) => {
    const left = all.count - count;
    return Math.sqrt(Math.max(0, (all.squares - squares) / left - ((all.sum - sum) / left) ** 2));
  });
  const centre = mean(without);
  const variance = ((n - 1) / n) * without.reduce((sum, value) => sum + (value - centre) ** 2, 0);
  const spread = Math.sqrt((variance * (total - n)) / total) || Number.EPSILON;
  return studentTail((found - limit) / spread, Math.max(4, n - 1));
}
