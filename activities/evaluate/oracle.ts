import { mean, meanOrZero } from '../statistics/mean';
import { type ArmTable, playedOf, taskRates } from './outcome-table';

/**
 * Fewest other tasks of the same group for a group's rate. With fewer, the rates of all other tasks are used instead.
 */
const MIN_SAME_GROUP = 5;

/** Two figures of perfect routing over the arms, for each task. The truth is between their means. */
export interface OracleRates {
  /**
   * For each task: the rate of an arm that was chosen without the scored trial. It never includes luck; its mean is at
   * most the true oracle's.
   */
  attainable: number[];
  /**
   * For each task: the best arm's rate in the same trials that selected it. It includes luck; its mean is at least the
   * true oracle's.
   */
  ceiling: number[];
}

/**
 * The oracle over arms: a router that knows for every task which arm has the highest chance to pass it, E[max_a p(task,
 * a)].
 *
 * The obvious estimate selects the best arm of each task by the available trials. It is too high for agents that
 * sample, because the maximum of noisy rates exceeds the maximum of the true rates. The effect grows with few trials
 * and many arms. It is reported as `ceiling`. The main figure is cross-fitted instead. For each task and trial, the arm
 * is chosen by the task's *other* trials together with the arm's rate on *other* tasks of the same group (one
 * pseudo-trial, which also breaks ties). It is scored on the trial that the choice did not use. So the score does not
 * overestimate the chosen arms, and no choice beats the best arm. On average it is therefore at or below the true
 * oracle. A routed system can come out slightly above it by chance.
 *
 * `groups` contain tasks with similar openings, such as the tasks that the router gives to the same arm. They must not
 * depend on outcomes.
 */
export function oracleRates(arms: readonly ArmTable[], groups: readonly string[]): OracleRates {
  const rates = arms.map(taskRates);
  return {
    attainable: attainableRates(
      arms.map(({ passes }) => passes.map(playedOf)),
      groups,
    ),
    ceiling: groups.map((_, task) => Math.max(...rates.map((own) => own[task] ?? 0))),
  };
}

/**
 * Computes only the cross-fitted figure. The arms need not have played all tasks, nor equally often.
 * @param passes `passes[arm][task]` has passes (1) and failures (0); empty if the arm did not play the task.
 */
export function attainableRates(
  passes: readonly (readonly (readonly number[])[])[],
  groups: readonly string[],
): number[] {
  const priors = passes.map((own) => priorsOf(own, groups));
  return groups.map((_, task) => {
    const candidates = passes.flatMap((own, arm) =>
      own[task]!.length === 0 ? [] : [{ passes: own[task]!, prior: priors[arm]![task]! }],
    );
    const splits = Math.max(0, ...candidates.map((one) => one.passes.length));
    const scores = Array.from({ length: splits }, (__, split) => {
      let best = { score: -Infinity, passed: 0 };
      for (const { passes: trials, prior } of candidates) {
        const passed = trials[split % trials.length]!;
        const others = trials.reduce((sum, pass) => sum + pass, -passed);
        const score = (others + prior) / trials.length;
        if (score > best.score + 1e-12) best = { score, passed };
      }
      return best.passed;
    });
    return meanOrZero(scores);
  });
}

/**
 * For each task, an arm's mean rate on other tasks of its group; if these are few, its mean rate on all other tasks.
 */
function priorsOf(passes: readonly (readonly number[])[], groups: readonly string[]): number[] {
  const rates = passes.map((trials) => (trials.length === 0 ? null : mean(trials)));
  const sums = new Map<string | null, { tasks: number; sum: number }>();
  const add = (group: string | null, rate: number) => {
    const { tasks, sum } = sums.get(group) ?? { tasks: 0, sum: 0 };
    sums.set(group, { tasks: tasks + 1, sum: sum + rate });
  };
  rates.forEach((rate, task) => {
    if (rate === null) return;
    for (const group of [groups[task]!, null]) add(group, rate);
  });
  return rates.map((rate, task) => {
    const others = (group: string | null) => {
      const { tasks, sum } = sums.get(group) ?? { tasks: 0, sum: 0 };
      return rate === null ? { tasks, sum } : { tasks: tasks - 1, sum: sum - rate };
    };
    const [same, all] = [others(groups[task]!), others(null)];
    const { tasks, sum } = same.tasks >= MIN_SAME_GROUP ? same : all;
    return tasks > 0 ? sum / tasks : 0;
  });
}
