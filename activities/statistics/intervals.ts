import type { Interval } from '../../contracts/artifacts/evaluation';
import { Z95 } from '../../contracts/statistics/normal';
import { student95 } from './student';

/** A ratio of sums over tasks, averaged over repetitions, with each task's influence on it. */
export interface ClusteredShare {
  /** Null if the denominator is zero in every repetition. */
  estimate: number | null;
  /**
   * Linearised contribution of each task (Taylor series of the ratio; Woodruff 1971, JASA 66:411-414). The
   * contributions sum to zero. Under sampling of whole tasks, tasks / (tasks - 1) times the sum of their squares
   * estimates the variance of the estimate.
   */
  influence: Float64Array;
  /** Sum of the denominator over tasks, averaged over repetitions. */
  size: number;
  /** Number of tasks with a non-zero denominator in any repetition. */
  clusters: number;
  /** Kish's number of independent tasks for these denominators: (sum of sizes)^2 / sum of squared sizes. */
  kish: number;
}

/**
 * The variance between tasks is shrunk towards the variance of independent observations, which has this weight in
 * degrees of freedom. With a handful of tasks the variance between them is little more than noise. An interval from it
 * alone is often far too short (docs/measured.md, `identification-intervals`).
 */
const PRIOR_DF = 8;

/**
 * 95 % interval of a share whose observations are grouped by task; null without an estimate.
 *
 * It is Wilson's score interval with Student's quantile, at the effective sample size. That is the number of
 * independent observations with the same variance as the one found between tasks (Kish 1965; Korn and Graubard 1998,
 * Survey Methodology 24:193-201). Wilson's was the best interval in the comparison by Franco, Little, Louis and Slud
 * (2019, Journal of Survey Statistics and Methodology 7:334-364).
 */
export function shareInterval(share: ClusteredShare): Interval | null {
  return share.estimate === null ? null : { estimate: share.estimate, ...clusteredWilson(share, share.estimate) };
}

/**
 * 95 % interval of a - b for shares of the same tasks; null if either has no estimate.
 *
 * MOVER combines the intervals of the two shares with their correlation between tasks (Zou and Donner 2008, Statistics
 * in Medicine 27:1693-1702). For independent shares this is Newcombe's method 10 (1998, Statistics in Medicine
 * 17:873-890).
 */
export function differenceInterval(a: ClusteredShare, b: ClusteredShare): Interval | null {
  if (a.estimate === null || b.estimate === null) return null;
  const estimate = a.estimate - b.estimate;
  const first = clusteredWilson(a, a.estimate);
  const second = clusteredWilson(b, b.estimate);
  const correlation = correlationOf(a.influence, b.influence);
  const reach = (x: number, y: number) => Math.sqrt(Math.max(0, x * x - 2 * correlation * x * y + y * y));
  return {
    estimate,
    low: Math.max(-1, estimate - reach(a.estimate - first.low, second.high - b.estimate)),
    high: Math.min(1, estimate + reach(first.high - a.estimate, b.estimate - second.low)),
  };
}

/**
 * Variance of an estimate under sampling of whole tasks: n / (n - 1) times the sum of the squared influences of the n
 * tasks. 0 for fewer than two tasks.
 */
export function clusteredVariance(influence: Float64Array, clusters: number): number {
  if (clusters < 2) return 0;
  let squares = 0;
  for (const value of influence) squares += value * value;
  return (clusters / (clusters - 1)) * squares;
}

/**
 * Moderated variance and its degrees of freedom. The variance between tasks is shrunk towards the variance of
 * independent observations with the weight of `PRIOR_DF` tasks (Smyth 2004, Statistical Applications in Genetics and
 * Molecular Biology 3:3, with a fixed prior).
 */
export function moderatedVariance(
  found: number,
  independent: number,
  clusters: number,
): { variance: number; df: number } {
  const own = Math.max(1, clusters - 1);
  return { variance: (own * found + PRIOR_DF * independent) / (own + PRIOR_DF), df: own + PRIOR_DF };
}

/** Wilson's score interval of a share p of n observations at the normal quantile z. n > 0 need not be whole. */
export function wilson(p: number, n: number, z = Z95): { low: number; high: number } {
  const centre = (p * n + (z * z) / 2) / (n + z * z);
  const half = (z / (n + z * z)) * Math.sqrt(n * p * (1 - p) + (z * z) / 4);
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

function clusteredWilson(
  { influence, clusters, size, kish }: ClusteredShare,
  p: number,
): { low: number; high: number } {
  const spread = p * (1 - p);
  const { variance, df } = moderatedVariance(clusteredVariance(influence, clusters), spread / size, clusters);
  // If all tasks agree, no variance is available to estimate the sample size. Then each task counts once, which is the
  // smallest possible weight of the data.
  return wilson(p, spread > 0 ? spread / variance : Math.max(1, kish), student95(df));
}

function correlationOf(a: Float64Array, b: Float64Array): number {
  let ab = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i++) {
    ab += a[i]! * b[i]!;
    aa += a[i]! ** 2;
    bb += b[i]! ** 2;
  }
  return aa === 0 || bb === 0 ? 0 : ab / Math.sqrt(aa * bb);
}
