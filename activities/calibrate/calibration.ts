import type { CalibrationResult } from '../../contracts/artifacts/environment-attempt';
import type { Interval } from '../../contracts/artifacts/evaluation';
import { shareInterval } from '../statistics/intervals';
import { mean, populationDeviation } from '../statistics/mean';
import { type CalibrationThresholds, rolloutsInMeans } from './stopping-rule';

/** Values of k in the reported pass@k; values above a task's number of rollouts are left out. */
const PASS_AT = [1, 4, 8, 16];

/**
 * The figures and the verdict of the base model's rollouts in an environment.
 *
 * A group is the rewards of one task. It is constant when all its rewards are equal. It is informative when their
 * standard deviation (population) reaches `minRewardStd`: from less, the trainer learns almost nothing. `rewardStd` is
 * the standard deviation of all rewards. Pass@k is the unbiased estimate from n rollouts with c successes, 1 - C(n-c,
 * k) / C(n, k) (Chen et al. 2021), averaged over tasks.
 *
 * Tasks may have different numbers of rollouts. A group may have fewer rollouts than `rolloutsPerSeed` if further ones
 * would not change it (`isSettled`). So means, `rewardStd` and pass@k for small k use only each task's `first`
 * rollouts. If every task has `rolloutsPerSeed`, they use all.
 * @param rewards one list per task, in order of seeds.
 * @throws RangeError when there is no task, or a task without rewards.
 */
export function calibrationOf(
  rewards: readonly (readonly number[])[],
  thresholds: CalibrationThresholds,
  plan: CalibrationPlan = {},
): CalibrationResult {
  if (rewards.length === 0 || rewards.some((group) => group.length === 0))
    throw new RangeError('Calibration needs at least one reward in every group.');
  const isSuccess = (reward: number): boolean => reward >= thresholds.successReward;
  const share = (test: (group: readonly number[]) => boolean): number => rewards.filter(test).length / rewards.length;
  const rolloutsPerSeed = plan.rolloutsPerSeed ?? Math.min(...rewards.map((group) => group.length));
  const first = rolloutsInMeans(rewards, { rolloutsPerSeed, first: plan.first ?? rolloutsPerSeed });
  const heads = rewards.map((group) => group.slice(0, first));
  const all = heads.flat();
  const figures = {
    meanReward: mean(all),
    meanSuccess: mean(all.map((reward) => Number(isSuccess(reward)))),
    allSuccessGroups: share((group) => group.every(isSuccess)),
    allZeroGroups: share((group) => group.every((reward) => reward === 0)),
    constantGroups: share((group) => group.every((reward) => reward === group[0])),
    informativeGroups: share((group) => populationDeviation(group) >= thresholds.minRewardStd),
    rewardStd: populationDeviation(all),
  };
  const rollouts = rewards.reduce((sum, group) => sum + group.length, 0);
  const passAt = PASS_AT.filter((k) => k <= rolloutsPerSeed).map(
    (k) => [String(k), passInterval(rewards, k, first, isSuccess)] as const,
  );
  return {
    seeds: rewards.length,
    rolloutsPerSeed,
    rollouts,
    planned: (plan.seeds ?? rewards.length) * rolloutsPerSeed,
    doubt: plan.doubt ?? 0,
    rolloutsInMeans: first,
    ...figures,
    passAt: Object.fromEntries(passAt),
    groupMeans: heads.map(mean),
    faulty: false,
    ...judge(figures, thresholds),
  };
}

/** The design of the rollouts. If members are absent, every task has all of its rollouts. */
interface CalibrationPlan {
  /** Number of tasks of the fixed design. */
  seeds?: number;
  /** Rollouts of each task in the fixed design. */
  rolloutsPerSeed?: number;
  /** Number of rollouts that every task got at first. */
  first?: number;
  /** Probability that the rest of the fixed design would have changed the verdict. */
  doubt?: number;
}

/** Mean pass@k over tasks, with its 95 % interval for the sampling of tasks. */
function passInterval(
  rewards: readonly (readonly number[])[],
  k: number,
  first: number,
  isSuccess: (reward: number) => boolean,
): Interval {
  const values = rewards.map((group) => {
    const from = group.slice(0, Math.max(k, Math.min(first, group.length)));
    // A settled group with fewer than k rollouts has a success, and any extension of it has one, too.
    if (from.length < k) return Number(from.some(isSuccess));
    return passAtK(from.length, from.filter(isSuccess).length, k);
  });
  const estimate = mean(values);
  const n = values.length;
  const influence = Float64Array.from(values, (value) => (value - estimate) / n);
  return shareInterval({ estimate, influence, clusters: n, size: n, kish: n })!;
}

type Figures = Pick<
  CalibrationResult,
  | 'meanReward'
  | 'meanSuccess'
  | 'allSuccessGroups'
  | 'allZeroGroups'
  | 'constantGroups'
  | 'informativeGroups'
  | 'rewardStd'
>;

/** The verdict on the figures, with a sentence for each missed threshold. */
function judge(figures: Figures, thresholds: CalibrationThresholds): Pick<CalibrationResult, 'verdict' | 'problems'> {
  const easy: string[] = [];
  const hard: string[] = [];
  const flat: string[] = [];
  const band = (name: string, value: number, [low, high]: readonly [number, number]): void => {
    if (value > high)
      easy.push(`The base model's mean ${name} is ${text(value)}, above ${text(high)}: make the tasks harder.`);
    if (value < low)
      hard.push(
        `The base model's mean ${name} is ${text(value)}, below ${text(low)}: ` +
          'make the tasks easier or give credit for partial progress.',
      );
  };
  band('reward', figures.meanReward, thresholds.meanReward);
  band('success', figures.meanSuccess, thresholds.meanSuccess);
  if (figures.allSuccessGroups > thresholds.maxAllSuccessGroups) {
    easy.push(
      `On ${text(figures.allSuccessGroups)} of the tasks every rollout succeeds; ` +
        `at most ${text(thresholds.maxAllSuccessGroups)} may be that easy.`,
    );
  }
  if (figures.allZeroGroups > thresholds.maxAllZeroGroups) {
    hard.push(
      `On ${text(figures.allZeroGroups)} of the tasks every rollout earns 0; ` +
        `at most ${text(thresholds.maxAllZeroGroups)} may be that hard.`,
    );
  }
  if (figures.constantGroups > thresholds.maxConstantGroups) {
    flat.push(
      `On ${text(figures.constantGroups)} of the tasks all rollouts earn the same; ` +
        `at most ${text(thresholds.maxConstantGroups)} may teach nothing.`,
    );
  }
  if (figures.informativeGroups < thresholds.minInformativeGroups) {
    flat.push(
      `Only on ${text(figures.informativeGroups)} of the tasks do rollouts differ in reward; ` +
        `at least ${text(thresholds.minInformativeGroups)} must.`,
    );
  }
  if (figures.rewardStd < thresholds.minRewardStd) {
    flat.push(
      `The rewards' standard deviation is ${text(figures.rewardStd)}, ` +
        `below ${text(thresholds.minRewardStd)}: grade more finely.`,
    );
  }
  // If some tasks are too easy and others too hard, neither direction helps. Only the spread within tasks can grow.
  const verdict =
    easy.length > 0 && hard.length > 0
      ? 'uninformative'
      : easy.length > 0
        ? 'too-easy'
        : hard.length > 0
          ? 'too-hard'
          : flat.length > 0
            ? 'uninformative'
            : 'in-band';
  return { verdict, problems: [...easy, ...hard, ...flat] };
}

/** Probability that at least one of k rollouts, drawn without replacement from n with c successes, succeeds. */
export function passAtK(n: number, c: number, k: number): number {
  if (n - c < k) return 1;
  let miss = 1;
  for (let i = 0; i < k; i++) miss *= (n - c - i) / (n - i);
  return 1 - miss;
}

const text = (value: number): string => value.toFixed(2);
