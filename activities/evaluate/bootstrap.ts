import type { Interval } from '../../contracts';
import { normalCdf, normalQuantile } from './normal';
import { randomSource } from './random';

/** How an interval is made. */
export interface BootstrapOptions {
  /** Resamples. */
  samples: number;
  /** Nominal coverage, for example 0.95. */
  confidence: number;
  seed: number;
  /** Smallest and largest possible value of one task's figure: [0, 1] for a rate, [-1, 1] for a difference of rates. */
  range: readonly [number, number];
}

/**
 * One task's contribution to a ratio of sums: the statistic is Σ value·weight / Σ weight. A plain mean over tasks has weight 1 everywhere.
 */
export interface WeightedValue {
  value: number;
  weight: number;
}

/** The mean of one figure per task, with its interval. The tasks are the clusters: trials of one task must be averaged before. Throws RangeError for no tasks. */
export function bootstrapMean(values: readonly number[], options: BootstrapOptions): Interval {
  return bootstrapRatio(
    values.map((value) => ({ value, weight: 1 })),
    options,
  );
}

/**
 * A weighted mean with its BCa interval: bias-corrected and accelerated bootstrap over tasks (Efron 1987, "Better bootstrap confidence
 * intervals", JASA 82; Efron and Tibshirani 1993, chapter 14). Resampling whole tasks keeps the trials of one task together (cluster
 * bootstrap: Davison and Hinkley 1997, section 3.8), because trials of one task are not independent observations.
 *
 * Where all tasks with weight agree, resampling cannot show any spread and the bootstrap's interval would be a point. The interval is then made
 * from the exact binomial bound on the share of tasks that could differ (Clopper and Pearson 1934), with those at the far end of `range`.
 * Throws RangeError when no task has weight.
 */
export function bootstrapRatio(tasks: readonly WeightedValue[], options: BootstrapOptions): Interval {
  const weighted = tasks.filter((t) => t.weight > 0);
  const first = weighted[0];
  if (first === undefined) throw new RangeError('An interval needs at least one task with weight.');
  const total = weighted.reduce((sum, t) => sum + t.weight, 0);
  const estimate = weighted.reduce((sum, t) => sum + t.value * t.weight, 0) / total;
  if (weighted.every((t) => t.value === first.value)) return constantInterval(first.value, weighted.length, options);

  const replicates = resample(weighted, options);
  const alpha = (1 - options.confidence) / 2;
  let below = 0;
  // Replicates of 0/1 outcomes lie on a lattice: those equal to the estimate count half, or the bias correction would be off by their share.
  for (const r of replicates) below += r < estimate - 1e-12 ? 1 : r <= estimate + 1e-12 ? 0.5 : 0;
  const share = Math.min(Math.max(below / replicates.length, 0.5 / replicates.length), 1 - 0.5 / replicates.length);
  const bias = normalQuantile(share);
  const acceleration = jackknifeAcceleration(weighted, total, estimate);
  const endpoint = (p: number) => {
    const z = bias + normalQuantile(p);
    return quantileOfSorted(replicates, normalCdf(bias + z / (1 - acceleration * z)));
  };
  return { estimate, low: Math.min(endpoint(alpha), estimate), high: Math.max(endpoint(1 - alpha), estimate) };
}

function constantInterval(value: number, tasks: number, options: BootstrapOptions): Interval {
  const share = 1 - ((1 - options.confidence) / 2) ** (1 / tasks);
  const [least, most] = options.range;
  return { estimate: value, low: value - share * (value - least), high: value + share * (most - value) };
}

/** Sorted replicates of the weighted mean under resampling of tasks. */
function resample(tasks: readonly WeightedValue[], options: BootstrapOptions): Float64Array {
  const n = tasks.length;
  const weights = Float64Array.from(tasks, (t) => t.weight);
  const products = Float64Array.from(tasks, (t) => t.value * t.weight);
  const random = randomSource(options.seed);
  const replicates = new Float64Array(options.samples);
  for (let s = 0; s < options.samples; s++) {
    let numerator = 0;
    let denominator = 0;
    for (let i = 0; i < n; i++) {
      const pick = random.below(n);
      numerator += products[pick] as number;
      denominator += weights[pick] as number;
    }
    replicates[s] = numerator / denominator;
  }
  return replicates.sort();
}

/** Acceleration constant from the jackknife (Efron and Tibshirani 1993, equation 14.15). Zero for one task. */
function jackknifeAcceleration(tasks: readonly WeightedValue[], total: number, estimate: number): number {
  if (tasks.length < 2) return 0;
  const left = tasks.map((t) => (estimate * total - t.value * t.weight) / (total - t.weight));
  const mean = left.reduce((a, b) => a + b, 0) / left.length;
  let squares = 0;
  let cubes = 0;
  for (const l of left) {
    squares += (mean - l) ** 2;
    cubes += (mean - l) ** 3;
  }
  return squares === 0 ? 0 : cubes / (6 * squares ** 1.5);
}

/** Linear interpolation between order statistics. */
function quantileOfSorted(sorted: Float64Array, p: number): number {
  const position = Math.min(Math.max(p, 0), 1) * (sorted.length - 1);
  const lower = Math.floor(position);
  const from = sorted[lower] as number;
  const to = sorted[Math.min(lower + 1, sorted.length - 1)] as number;
  return from + (to - from) * (position - lower);
}
