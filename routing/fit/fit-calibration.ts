/**
 * Fits the calibration of the router `logits`: a temperature, so that a probability of 0.9 is right nine times in ten,
 * and a threshold below which base gets the task.
 */
import { mean } from '../../activities/statistics/mean';
import { calibrated } from '../menu-answer';

/** Fewest tasks for a fit. */
const MIN_TASKS = 20;
const CANDIDATE_THRESHOLDS = Array.from({ length: 20 }, (_, i) => i / 20);

/** A task with one right choice. */
interface Judged {
  probabilities: readonly number[];
  /** Index of the right choice in the menu. */
  right: number;
}

/** A task that the router sent to an adapter, with the pass rates of base and of that adapter. */
interface Choice {
  probabilities: readonly number[];
  base: number;
  chosen: number;
}

/**
 * Standard deviation of the prior of log temperature. Without a prior, a router that is always right would get the
 * lowest possible temperature.
 */
const PRIOR_SPREAD = 0.5;

/** Temperature with the highest posterior of the right choices (golden-section search on its logarithm, 0.1 to 10). */
export function fitTemperature(tasks: readonly Judged[]): number {
  const surprise = ({ probabilities, right }: Judged, temperature: number) =>
    -Math.log(Math.max(1e-6, calibrated(probabilities, temperature)[right] as number));
  const loss = (logT: number) =>
    mean(tasks.map((task) => surprise(task, Math.exp(logT)))) + logT ** 2 / (2 * PRIOR_SPREAD ** 2 * tasks.length);
  const golden = (Math.sqrt(5) - 1) / 2;
  let [low, high] = [Math.log(0.1), Math.log(10)];
  for (let step = 0; step < 40; step++) {
    const [a, b] = [high - golden * (high - low), low + golden * (high - low)];
    if (loss(a) < loss(b)) high = b;
    else low = a;
  }
  return Number(Math.exp((low + high) / 2).toFixed(3));
}

/** Change of a task's pass rate if the router abstains below the threshold. */
const gainOf = ({ probabilities, base, chosen }: Choice, temperature: number, threshold: number): number =>
  Math.max(...calibrated(probabilities, temperature)) < threshold ? base - chosen : 0;

/**
 * The lowest threshold whose gain is within one standard error of the best gain. 0 (never abstain) unless the best gain
 * is larger than its standard error.
 */
export function fitThreshold(tasks: readonly Choice[], temperature: number): number {
  if (tasks.length < MIN_TASKS) return 0;
  const gains = CANDIDATE_THRESHOLDS.map((threshold) => {
    const values = tasks.map((task) => gainOf(task, temperature, threshold));
    const average = mean(values);
    return {
      threshold,
      average,
      error: Math.sqrt(mean(values.map((value) => (value - average) ** 2)) / values.length),
    };
  });
  const best = gains.reduce((a, b) => (b.average > a.average ? b : a));
  if (best.average <= best.error) return 0;
  return gains.find(({ average }) => average >= best.average - best.error)?.threshold ?? 0;
}
