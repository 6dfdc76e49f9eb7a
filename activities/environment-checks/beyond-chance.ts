import { chanceOfAtLeast } from '../../contracts/statistics/exact-tails';

/** Chance alone exceeds a limit in at most this share of all comparisons. */
const BY_CHANCE = 0.01;
/** Fewer cases prove nothing. */
const FEWEST = 3;

/** Whether `count` cases in `total` are more than chance makes if their true share is `limit` (binomial, one-sided). */
export const isAbove = (count: number, total: number, limit: number): boolean =>
  count >= FEWEST &&
  count > limit * total &&
  chanceOfAtLeast(count, new Array<number>(total).fill(Math.min(1, limit))) < BY_CHANCE;
