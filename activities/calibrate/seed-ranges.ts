import type { CalibrationResult } from '../../contracts/artifacts/environment-attempt';
import { CHECKED_TRAINING_TASKS, SYNTHETIC_SEEDS } from '../../contracts/limits';
import { mean, sampleDeviation } from '../statistics/mean';
import { seededRandom } from '../statistics/random';

/** Fewest tasks of each seed range for a comparison of the two. */
export const FEWEST_COMPARED = 8;
/** Smallest difference of the mean rewards that counts: absolute, and in standard errors. */
const PARTED = { reward: 0.1, errors: 4 } as const;
/**
 * Weight of the prior, counted in tasks. The prior has the largest possible variance. So a few tasks that happen to
 * agree do not prove that all do.
 */
const PRIOR_TASKS = 4;

/**
 * Seeds of a calibration's tasks, in order. Every other seed is a training seed, drawn by the source's hash. An
 * environment cannot know which, so it cannot behave differently in training. A longer list begins with the shorter
 * list.
 */
export function calibrationSeeds(count: number, sourceSha256: string): number[] {
  // Validation uses the first eight digits. These are other digits, so the tasks differ.
  const random = seededRandom(Number.parseInt(sourceSha256.slice(8, 16), 16));
  const seeds = new Set<number>();
  while (seeds.size < count) {
    const index = seeds.size;
    if (index % 2 === 0) seeds.add(SYNTHETIC_SEEDS.calibration + index / 2);
    else seeds.add(SYNTHETIC_SEEDS.training + Math.floor(random() * CHECKED_TRAINING_TASKS));
  }
  return [...seeds];
}

/**
 * The calibration with the mean reward of each range of seeds. It is out of band if chance does not explain the
 * difference of the two means: the calibrated tasks would then differ from the trained ones. Chance alone separates
 * fewer than 1 in 1,000 environments (docs/explanations/environments.md).
 * @param seeds seeds of the tasks, in the order of `groupMeans`.
 */
export function heldAcrossRanges(result: CalibrationResult, seeds: readonly number[]): CalibrationResult {
  const means = (isTraining: boolean): number[] =>
    result.groupMeans.filter((_, task) => seeds[task]! >= SYNTHETIC_SEEDS.training === isTraining);
  const [training, calibration] = [means(true), means(false)];
  if (training.length === 0 || calibration.length === 0) return result;
  const bySeeds = {
    training: { tasks: training.length, meanReward: mean(training) },
    calibration: { tasks: calibration.length, meanReward: mean(calibration) },
  };
  if (!arePart(training, calibration)) return { ...result, bySeeds };
  const figure = (values: readonly number[]): string => `${mean(values).toFixed(2)} on ${values.length} tasks`;
  const sentence =
    `The base model's mean reward is ${figure(training)} with training seeds ` +
    `(from ${SYNTHETIC_SEEDS.training}) and ${figure(calibration)} with calibration seeds: ` +
    'make tasks and rewards of the same kind at every seed; the seed may only choose among them.';
  return { ...result, bySeeds, verdict: 'differs-by-seed', problems: [sentence, ...result.problems] };
}

function arePart(a: readonly number[], b: readonly number[]): boolean {
  if (Math.min(a.length, b.length) < FEWEST_COMPARED) return false;
  const apart = Math.abs(mean(a) - mean(b));
  const own = [a, b].map((values) => ({ df: values.length - 1, square: sampleDeviation(values)! ** 2 }));
  const centre = mean([...a, ...b]);
  const squares = own.reduce((sum, { df, square }) => sum + df * square, PRIOR_TASKS * centre * (1 - centre));
  const variance = squares / own.reduce((sum, { df }) => sum + df, PRIOR_TASKS);
  const error = Math.sqrt(variance / a.length + variance / b.length);
  return apart >= PARTED.reward && apart >= PARTED.errors * error;
}
