import type { Interval } from '../../contracts/artifacts/evaluation';
import { normalCdf, normalQuantile } from '../../contracts/statistics/normal';
import { randomSource } from './random';

/** How intervals are made. */
export interface BootstrapOptions {
  /** Resamples. */
  samples: number;
  /** Nominal coverage, for example 0.95. */
  confidence: number;
  seed: number;
}

/** Smallest and largest possible value of one task's figure: [0, 1] for a rate, [-1, 1] for a difference of rates. */
export type Range = readonly [number, number];

/** One figure per task, to be averaged over tasks. */
export interface Column {
  values: readonly number[];
  range: Range;
}

/**
 * One task's contribution to a ratio of sums: the statistic is Σ value·weight / Σ weight. A plain mean over tasks has
 * weight 1 everywhere.
 */
export interface WeightedValue {
  value: number;
  weight: number;
}

/**
 * The mean of one figure per task, with its interval.
 * @throws RangeError for no tasks.
 */
export function bootstrapMean(values: readonly number[], range: Range, options: BootstrapOptions): Interval {
  return bootstrapMeans([{ values, range }], options)[0] as Interval;
}

/**
 * The means of several figures of the same tasks, each with its interval. All are resampled with the same draws. So a
 * figure's result depends only on the seed and its own values, and twenty figures cost little more than one.
 * @throws RangeError for no tasks.
 */
export function bootstrapMeans(columns: readonly Column[], options: BootstrapOptions): Interval[] {
  const weights = columns[0]?.values.map(() => 1) ?? [];
  return intervals(columns, weights, options);
}

/**
 * A weighted mean with its interval; tasks without weight are left out.
 * @throws RangeError when no task has weight.
 */
export function bootstrapRatio(tasks: readonly WeightedValue[], range: Range, options: BootstrapOptions): Interval {
  const weighted = tasks.filter((t) => t.weight > 0);
  const weights = weighted.map((t) => t.weight);
  return intervals([{ values: weighted.map((t) => t.value), range }], weights, options)[0] as Interval;
}

/**
 * BCa intervals: bias-corrected and accelerated bootstrap over tasks (Efron 1987, "Better bootstrap confidence
 * intervals", JASA 82; Efron and Tibshirani 1993, chapter 14). Resampling whole tasks keeps the trials of one task
 * together (cluster bootstrap: Davison and Hinkley 1997, section 3.8), because trials of one task are not independent
 * observations. In simulations of 0/1 outcomes with one or two trials and at least 50 tasks, the 95 % intervals covered
 * the truth in 93 to 96 % of repetitions. If hardly any task differed, the intervals covered the truth in 91 % of
 * repetitions.
 *
 * If all tasks agree, resampling cannot show any spread, and the bootstrap's interval would be a point. Then the
 * interval comes from the exact binomial bound on the share of tasks that could differ (Clopper and Pearson 1934), with
 * those tasks at the far end of the range.
 *
 * With fewer than `IN_TAIL` resamples beyond a quantile, it cannot be located. So the tail is extended with the shape
 * of a normal distribution. Otherwise a confidence of 0.9999 would get the interval of 0.999.
 */
function intervals(columns: readonly Column[], weights: readonly number[], options: BootstrapOptions): Interval[] {
  if (weights.length === 0) throw new RangeError('An interval needs at least one task with weight.');
  const varying = columns.filter(({ values }) => values.some((v) => v !== values[0]));
  const replicates = new Map(resample(varying, weights, options).map((sorted, i) => [varying[i], sorted]));
  return columns.map((column) => {
    const sorted = replicates.get(column);
    return sorted
      ? bcaInterval(column, weights, sorted, options.confidence)
      : constantInterval(column, options.confidence);
  });
}

/** Number of resamples that must lie beyond a quantile for a direct estimate. */
const IN_TAIL = 10;
/** The correction for skewness divides by a number that approaches zero in the far tail. */
const LEAST_CURVE = 0.1;

function bcaInterval(
  { values, range }: Column,
  weights: readonly number[],
  replicates: Float64Array,
  confidence: number,
): Interval {
  const total = weights.reduce((a, b) => a + b, 0);
  const estimate = values.reduce((sum, value, i) => sum + value * (weights[i] as number), 0) / total;
  const alpha = (1 - confidence) / 2;
  let below = 0;
  // Many replicates of 0/1 outcomes equal the estimate. They count half, otherwise their share would distort the bias
  // correction.
  for (const r of replicates) below += r < estimate - 1e-12 ? 1 : r <= estimate + 1e-12 ? 0.5 : 0;
  const share = Math.min(Math.max(below / replicates.length, 0.5 / replicates.length), 1 - 0.5 / replicates.length);
  const bias = normalQuantile(share);
  const acceleration = jackknifeAcceleration(values, weights, total, estimate);
  const endpoint = (p: number) => {
    const z = bias + normalQuantile(p);
    return quantileInTail(replicates, bias + z / Math.max(LEAST_CURVE, 1 - acceleration * z), range);
  };
  return { estimate, low: Math.min(endpoint(alpha), estimate), high: Math.max(endpoint(1 - alpha), estimate) };
}

function constantInterval({ values, range: [least, most] }: Column, confidence: number): Interval {
  const value = values[0] as number;
  const share = 1 - ((1 - confidence) / 2) ** (1 / values.length);
  return { estimate: value, low: value - share * (value - least), high: value + share * (most - value) };
}

/** Sorted replicates of each column's weighted mean under resampling of tasks. */
function resample(
  columns: readonly Column[],
  weights: readonly number[],
  { samples, seed }: BootstrapOptions,
): Float64Array[] {
  const n = weights.length;
  const width = columns.length;
  const weight = Float64Array.from(weights);
  // The order is row by row, so that one draw reads neighbouring numbers.
  const products = new Float64Array(n * width);
  columns.forEach(({ values }, column) =>
    values.forEach((value, task) => (products[task * width + column] = value * (weights[task] as number))),
  );
  const replicates = columns.map(() => new Float64Array(samples));
  const random = randomSource(seed);
  const sums = new Float64Array(width);
  for (let s = 0; s < samples && width > 0; s++) {
    sums.fill(0);
    let total = 0;
    for (let i = 0; i < n; i++) {
      const pick = random.below(n);
      total += weight[pick] as number;
      for (let column = 0, at = pick * width; column < width; column++, at++) sums[column]! += products[at] as number;
    }
    for (let column = 0; column < width; column++) replicates[column]![s] = sums[column]! / total;
  }
  return replicates.map((column) => column.sort());
}

/** Acceleration constant from the jackknife (Efron and Tibshirani 1993, equation 14.15). Zero for a single task. */
function jackknifeAcceleration(
  values: readonly number[],
  weights: readonly number[],
  total: number,
  estimate: number,
): number {
  if (values.length < 2) return 0;
  const left = values.map(
    (value, i) => (estimate * total - value * (weights[i] as number)) / (total - (weights[i] as number)),
  );
  const mean = left.reduce((a, b) => a + b, 0) / left.length;
  let squares = 0;
  let cubes = 0;
  for (const l of left) {
    squares += (mean - l) ** 2;
    cubes += (mean - l) ** 3;
  }
  return squares === 0 ? 0 : cubes / (6 * squares ** 1.5);
}

/** The quantile of the replicates at z standard deviations from the middle of a normal distribution. */
function quantileInTail(sorted: Float64Array, z: number, [least, most]: Range): number {
  const furthest = -normalQuantile(Math.min(0.5, IN_TAIL / sorted.length));
  if (Math.abs(z) <= furthest || furthest <= 0) return quantileOfSorted(sorted, normalCdf(z));
  const middle = quantileOfSorted(sorted, 0.5);
  const edge = quantileOfSorted(sorted, normalCdf(Math.sign(z) * furthest));
  return Math.min(most, Math.max(least, middle + ((edge - middle) * Math.abs(z)) / furthest));
}

/** Linear interpolation between order statistics. */
function quantileOfSorted(sorted: Float64Array, p: number): number {
  const position = Math.min(Math.max(p, 0), 1) * (sorted.length - 1);
  const lower = Math.floor(position);
  const from = sorted[lower] as number;
  const to = sorted[Math.min(lower + 1, sorted.length - 1)] as number;
  return from + (to - from) * (position - lower);
}
