import type { Interval } from '../../contracts/artifacts/evaluation';
import { Z95 } from '../../contracts/statistics/normal';
import { student95 } from './student';

/** A share of sums over tasks, the mean over some repetitions, with each task's influence on it. */
export interface ClusteredShare {
  /** Null when no repetition has anything in the denominator. */
  estimate: number | null;
  /**
   * Linearised contribution of each task (Taylor series of the ratio; Woodruff 1971, JASA 66:411-414): they sum to
   * zero, and tasks / (tasks - 1) times the sum of their squares estimates the variance of the estimate under sampling
   * of whole tasks.
   */
  influence: Float64Array;
  /** Sum over tasks of the denominator, averaged over repetitions. */
  size: number;
  /** Tasks with anything in the denominator of any repetition. */
  clusters: number;
  /** Kish's number of independent tasks for these denominators: (sum of sizes)^2 / sum of squared sizes. */
  kish: number;
}

/**
 * Degrees of freedom with which independent observations count, in addition to the variance found between tasks. With a
 * handful of tasks that variance is little more than noise: an interval made from it alone is often far too short
 * (docs/measured.md, `identification-intervals`).
 */
const PRIOR_DF = 8;

/**
 * 95 % interval of a share whose observations come in tasks; null without an estimate.
 *
 * It is Wilson's score interval with Student's quantile, at the effective sample size: the number of independent
 * observations that would have the variance found between tasks (Kish 1965; Korn and Graubard 1998, Survey Methodology
 * 24:193-201). Wilson did best of the intervals compared by Franco, Little, Louis and Slud (2019, Journal of Survey
 * Statistics and Methodology 7:334-364).
 */
export function shareInterval(share: ClusteredShare): Interval | null {
  return share.estimate === null ? null : { estimate: share.estimate, ...clusteredWilson(share, share.estimate) };
}

/**
 * 95 % interval of a - b for shares of the same tasks; null when either has no estimate.
 *
 * MOVER combines the intervals of the two shares, with the correlation between them that the tasks show (Zou and Donner
 * 2008, Statistics in Medicine 27:1693-1702). For independent shares this is Newcombe's method 10 (1998, Statistics in
 * Medicine 17:873-890).
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
 * Moderated variance and its degrees of freedom. The variance found between tasks is drawn towards the variance of
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
  // Where all tasks agree there is no variance to estimate the sample size from. Each task then counts once, which is
  // the least that the data can be worth.
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
