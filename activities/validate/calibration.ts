import type { AgentSpec, CalibrationResult } from '../../contracts';

/** The band, and what counts as a success. */
export type CalibrationThresholds = Omit<AgentSpec['calibration'], 'seeds' | 'rolloutsPerSeed'> & { successReward: number };

/** The k of pass@k, as far as there are that many rollouts. */
const PASS_AT = [1, 4, 8, 16];

/**
 * What rollouts of the base model say about an environment.
 *
 * A group is the rewards of one task. Its standard deviation is taken over the group as a whole population; `rewardStd` over all
 * rewards. A group is constant when its rewards are all the same, and informative when their deviation reaches `minRewardStd`: a
 * group that differs by less gives the trainer almost nothing. Pass@k is the unbiased estimate from n rollouts with c successes,
 * 1 - C(n-c, k) / C(n, k), averaged over tasks.
 * @param rewards one list per task, in order of seeds; none may be empty.
 */
export function calibrationOf(rewards: readonly (readonly number[])[], thresholds: CalibrationThresholds): CalibrationResult {
  if (rewards.length === 0 || rewards.some((group) => group.length === 0)) throw new RangeError('Calibration needs at least one reward in every group.');
  const isSuccess = (reward: number): boolean => reward >= thresholds.successReward;
  const share = (test: (group: readonly number[]) => boolean): number => rewards.filter(test).length / rewards.length;
  const all = rewards.flat();
  const rolloutsPerSeed = Math.min(...rewards.map((group) => group.length));
  const figures = {
    meanReward: mean(all),
    meanSuccess: mean(all.map((reward) => Number(isSuccess(reward)))),
    allSuccessGroups: share((group) => group.every(isSuccess)),
    allZeroGroups: share((group) => group.every((reward) => reward === 0)),
    constantGroups: share((group) => group.every((reward) => reward === group[0])),
    informativeGroups: share((group) => deviation(group) >= thresholds.minRewardStd),
    rewardStd: deviation(all),
  };
  const ks = PASS_AT.filter((k) => k <= rolloutsPerSeed);
  const passAt = ks.map((k) => [String(k), mean(rewards.map((group) => passAtK(group.length, group.filter(isSuccess).length, k)))] as const);
  return {
    seeds: rewards.length,
    rolloutsPerSeed,
    ...figures,
    passAt: Object.fromEntries(passAt),
    groupMeans: rewards.map(mean),
    ...judge(figures, thresholds),
  };
}

type Figures = Pick<
  CalibrationResult,
  'meanReward' | 'meanSuccess' | 'allSuccessGroups' | 'allZeroGroups' | 'constantGroups' | 'informativeGroups' | 'rewardStd'
>;

function judge(figures: Figures, thresholds: CalibrationThresholds): Pick<CalibrationResult, 'verdict' | 'problems'> {
  const easy: string[] = [];
  const hard: string[] = [];
  const flat: string[] = [];
  const band = (name: string, value: number, [low, high]: readonly [number, number]): void => {
    if (value > high) easy.push(`The base model's mean ${name} is ${text(value)}, above ${text(high)}: make the tasks harder.`);
    if (value < low)
      hard.push(`The base model's mean ${name} is ${text(value)}, below ${text(low)}: make the tasks easier or give credit for partial progress.`);
  };
  band('reward', figures.meanReward, thresholds.meanReward);
  band('success', figures.meanSuccess, thresholds.meanSuccess);
  if (figures.allSuccessGroups > thresholds.maxAllSuccessGroups) {
    easy.push(`On ${text(figures.allSuccessGroups)} of the tasks every rollout succeeds; at most ${text(thresholds.maxAllSuccessGroups)} may be that easy.`);
  }
  if (figures.allZeroGroups > thresholds.maxAllZeroGroups) {
    hard.push(`On ${text(figures.allZeroGroups)} of the tasks every rollout earns 0; at most ${text(thresholds.maxAllZeroGroups)} may be that hard.`);
  }
  if (figures.constantGroups > thresholds.maxConstantGroups) {
    flat.push(`On ${text(figures.constantGroups)} of the tasks all rollouts earn the same; at most ${text(thresholds.maxConstantGroups)} may teach nothing.`);
  }
  if (figures.informativeGroups < thresholds.minInformativeGroups) {
    flat.push(`Only on ${text(figures.informativeGroups)} of the tasks do rollouts differ in reward; at least ${text(thresholds.minInformativeGroups)} must.`);
  }
  if (figures.rewardStd < thresholds.minRewardStd) {
    flat.push(`The rewards' standard deviation is ${text(figures.rewardStd)}, below ${text(thresholds.minRewardStd)}: grade more finely.`);
  }
  // Where tasks are both too easy and too hard there is no direction to go in, only spread to gain.
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

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function deviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
}

function text(value: number): string {
  return value.toFixed(2);
}
