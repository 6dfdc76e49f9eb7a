import { mean } from '../statistics/mean';
import { type ArmTable, type OutcomeTable, taskRates } from './outcome-table';

/** Fewest other tasks of the same group. With fewer, the rates of all other tasks are used instead. */
const MIN_SAME_GROUP = 5;

/** How many trials the rate on other tasks counts for, beside the task's own remaining trials. */
const PRIOR_TRIALS = 1;

/** What perfect routing over the arms could reach: two figures for each task. The truth lies between their means. */
export interface OracleRates {
  /**
   * Per task: rate of the arm chosen without the trial that is scored. Never counts luck; its mean is at most the true
   * oracle's.
   */
  attainable: number[];
  /**
   * Per task: the best arm's rate in the very trials it is chosen by. Counts luck; its mean is at least the true
   * oracle's.
   */
  ceiling: number[];
}

/**
 * The oracle over arms: a router that knew for every task which arm has the highest chance to pass it, E[max_a p(task,
 * a)].
 *
 * The obvious estimate, the best arm of each task by the trials at hand, is too high for agents that sample: the
 * maximum of noisy rates exceeds the maximum of the true rates, more so with few trials and many arms. It is reported
 * as `ceiling`. The main figure is cross-fitted instead: for each task and trial, the arm is chosen by the task's
 * *other* trials together with the arm's rate on *other* tasks of the same group (one pseudo-trial, which also breaks
 * ties), and scored on the trial that the choice did not see. Such a score is an unbiased figure for its own choices,
 * and no choice beats the best one, so on average it lies at or below the true oracle. A routed system can therefore
 * come out slightly above it by chance.
 *
 * `groups` are tasks that are alike as far as their openings tell, such as those that the router gives to the same arm.
 * They may not come from outcomes.
 */
export function oracleRates(table: OutcomeTable, arms: readonly ArmTable[], groups: readonly string[]): OracleRates {
  const rates = arms.map(taskRates);
  const sums = sumsByGroup(groups, rates);
  const everything = { tasks: groups.length, sums: rates.map((r) => r.reduce((a, b) => a + b, 0)) };

  const attainable: number[] = [];
  const ceiling: number[] = [];
  for (let task = 0; task < table.seeds.length; task++) {
    const sameGroup = sums.get(groups[task] as string);
    const source = sameGroup !== undefined && sameGroup.tasks > MIN_SAME_GROUP ? sameGroup : everything;
    const priors = arms.map((_, a) =>
      source.tasks > 1 ? ((source.sums[a] as number) - rateOf(rates, a, task)) / (source.tasks - 1) : 0,
    );
    const scores = Array.from({ length: table.trials }, (_, trial) => {
      let best = 0;
      let bestScore = -Infinity;
      arms.forEach((arm, a) => {
        const passes = arm.passes[task] as number[];
        const others = passes.reduce((sum, pass, t) => (t === trial ? sum : sum + pass), 0);
        const score = (others + PRIOR_TRIALS * (priors[a] as number)) / (table.trials - 1 + PRIOR_TRIALS);
        if (score > bestScore + 1e-12) [best, bestScore] = [a, score];
      });
      return arms[best]?.passes[task]?.[trial] ?? 0;
    });
    attainable.push(mean(scores));
    ceiling.push(Math.max(...arms.map((_, a) => rateOf(rates, a, task))));
  }
  return { attainable, ceiling };
}

const rateOf = (rates: readonly number[][], arm: number, task: number): number => rates[arm]?.[task] ?? 0;

function sumsByGroup(
  groups: readonly string[],
  rates: readonly number[][],
): Map<string, { tasks: number; sums: number[] }> {
  const sums = new Map<string, { tasks: number; sums: number[] }>();
  groups.forEach((group, task) => {
    const entry = sums.get(group) ?? { tasks: 0, sums: rates.map(() => 0) };
    entry.tasks += 1;
    rates.forEach((_, a) => (entry.sums[a] = (entry.sums[a] as number) + rateOf(rates, a, task)));
    sums.set(group, entry);
  });
  return sums;
}
