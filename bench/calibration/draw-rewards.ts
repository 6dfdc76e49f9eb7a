import type { CalibrationThresholds } from '../../activities/calibrate/stopping-rule';
import { randomSource, type RandomSource } from '../../activities/statistics/random';

/** A simulated environment: how often the base model succeeds on its tasks, and what a failure earns. */
export interface SuccessProfile {
  /** Mean success rate over tasks. */
  success: number;
  /**
   * The tasks' success rates are Beta(success * concentration, (1 - success) * concentration). The smaller it is, the
   * more the tasks differ.
   */
  concentration: number;
  /** Share of the failures that earn `PARTIAL` instead of 0. */
  partial: number;
}

const PARTIAL = 0.4;
const CONCENTRATIONS = [1, 4, 20];
const PARTIAL_SHARES = [0, 0.5];

/** Environments from hopeless to trivial, with similar and with different tasks, with and without partial rewards. */
export const PROFILES: SuccessProfile[] = Array.from({ length: 25 }, (_, step) => 0.02 + 0.04 * step).flatMap(
  (success) =>
    CONCENTRATIONS.flatMap((concentration) => PARTIAL_SHARES.map((partial) => ({ success, concentration, partial }))),
);

/** Whether an environment is in the band by its true rates. */
export function isTrulyInBand(
  { success, concentration, partial }: SuccessProfile,
  rolloutsPerSeed: number,
  thresholds: CalibrationThresholds,
): boolean {
  const [a, b] = [success * concentration, (1 - success) * concentration];
  // E[p^k] of Beta(a, b).
  const moment = (first: number): number =>
    Array.from({ length: rolloutsPerSeed }, (_, j) => (first + j) / (a + b + j)).reduce((x, y) => x * y, 1);
  const [allSuccess, allFailure] = [moment(a), moment(b)];
  const allZero = allFailure * (1 - partial) ** rolloutsPerSeed;
  const constant = allSuccess + allZero + allFailure * partial ** rolloutsPerSeed;
  const reward = success + (1 - success) * partial * PARTIAL;
  const within = (value: number, [low, high]: readonly [number, number]): boolean => value >= low && value <= high;
  return (
    within(reward, thresholds.meanReward) &&
    within(success, thresholds.meanSuccess) &&
    allSuccess <= thresholds.maxAllSuccessGroups &&
    allZero <= thresholds.maxAllZeroGroups &&
    constant <= thresholds.maxConstantGroups &&
    1 - constant >= thresholds.minInformativeGroups
  );
}

/** Rewards of every rollout that the fixed design would make, `[task][rollout]`. */
export function drawRewards(
  { success, concentration, partial }: SuccessProfile,
  seeds: number,
  rolloutsPerSeed: number,
  seed: number,
): number[][] {
  const random = randomSource(seed);
  return Array.from({ length: seeds }, () => {
    const x = gamma(success * concentration, random);
    const rate = x / (x + gamma((1 - success) * concentration, random));
    return Array.from({ length: rolloutsPerSeed }, () =>
      random.uniform() < rate ? 1 : random.uniform() < partial ? PARTIAL : 0,
    );
  });
}

/** A gamma variate of scale 1 (Marsaglia and Tsang 2000, ACM TOMS 26:363-372); below shape 1 by their boost. */
function gamma(shape: number, random: RandomSource): number {
  if (shape < 1)
    return gamma(shape + 1, random) * Math.max(random.uniform(), Number.MIN_VALUE) ** (1 / shape) + Number.MIN_VALUE;
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const normal = Math.sqrt(-2 * Math.log(1 - random.uniform())) * Math.cos(2 * Math.PI * random.uniform());
    const v = (1 + c * normal) ** 3;
    if (v > 0 && Math.log(1 - random.uniform()) < 0.5 * normal * normal + d - d * v + d * Math.log(v)) return d * v;
  }
}
