import type { Interval } from '../../../contracts/artifacts/evaluation';
import type { Criterion } from './capability-verdict';
import type { VerdictRule } from './verdict-rule';

/**
 * Largest reported number, as a multiple of the available failures. If more failures are needed, the estimate is so
 * near its threshold that no number could be trusted.
 */
const MOST_TIMES = 100;

/** The figures for estimating the number of failures needed. */
export interface Estimates {
  gap: Interval | null;
  coverage: Interval | null;
  missed: readonly Criterion[];
  adjustedPValue: number;
  /** Number of candidates for which the p-value is adjusted. */
  candidates: number;
  /** Failures at hand. */
  failures: number;
}

/**
 * About how many more failed trajectories a verdict needs, if the estimates are right. The width of an interval shrinks
 * with the square root of their number, so (width / distance to the threshold)^2 times as many are needed. Null if no
 * number can be given: there is no gap to estimate, or more than 100 times as many would be needed.
 */
export function failuresNeeded(
  { gap, coverage, missed, adjustedPValue, candidates, failures }: Estimates,
  rule: VerdictRule,
): number | null {
  if (gap === null || coverage === null || failures === 0) return null;
  const below: number[] = [];
  const above: number[] = [];
  for (const [{ estimate, low, high }, threshold] of [
    [gap, rule.minGap],
    [coverage, rule.minCoverage],
  ] as const) {
    if (estimate < threshold) below.push(((high - estimate) / (threshold - estimate)) ** 2);
    else above.push(((estimate - low) / (estimate - threshold)) ** 2);
  }
  // A rejection needs one threshold missed clearly. A keep needs both thresholds reached clearly.
  let times = below.length > 0 ? Math.min(...below) : Math.max(...above);
  if (missed.includes('significance'))
    times =
      (normalScore(rule.familywiseError / candidates) / normalScore(Math.min(0.49, adjustedPValue / candidates))) ** 2;
  if (!(times <= MOST_TIMES)) return null;
  return Math.max(1, Math.ceil(failures * (times - 1)));
}

/** Upper quantile of the normal at a tail p < 0.5, to three digits (Abramowitz and Stegun 1964, 26.2.23). */
function normalScore(p: number): number {
  const t = Math.sqrt(-2 * Math.log(p));
  return t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t ** 3);
}
