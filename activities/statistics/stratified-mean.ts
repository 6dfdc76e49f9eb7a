import { studentOneSided95 } from './student';

/** Values of one part of a population, and the part's share of it. */
export interface Stratum {
  /** Each in [-1, 1]. */
  values: readonly number[];
  share: number;
}

/**
 * Pseudo-values added to each stratum: one of -1, one of 1, two of 0. Without them, a few values that are all alike
 * would have no spread, and their bound would seem certain (the plus-four rule of Agresti and Caffo 2000, The American
 * Statistician 54:280-288).
 */
const ADDED = { values: 4, squares: 2 };

/** The mean, and its variance, with the added values. */
function moderated(values: readonly number[]): { mean: number; variance: number; count: number } {
  const count = values.length + ADDED.values;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const squares = values.reduce((sum, value) => sum + value * value, ADDED.squares) / count;
  return { mean, variance: Math.max(0, squares - mean * mean) / count, count };
}

/**
 * The mean over strata whose shares sum to 1, moved towards 0 by the added values, and its one-sided upper 95 % bound,
 * at most 1.
 */
export function stratifiedMean(strata: readonly Stratum[]): { mean: number; bound: number } {
  const parts = strata.map(({ values, share }) => ({ ...moderated(values), share }));
  const mean = parts.reduce((sum, part) => sum + part.share * part.mean, 0);
  const variance = parts.reduce((sum, part) => sum + part.share ** 2 * part.variance, 0);
  const freedom = parts.reduce((sum, { count }) => sum + count - 1, 0);
  return { mean, bound: Math.min(1, mean + studentOneSided95(freedom) * Math.sqrt(variance)) };
}
