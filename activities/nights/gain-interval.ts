import type { Interval } from '../../contracts/artifacts/evaluation';
import { normalQuantile, Z95 } from '../../contracts/statistics/normal';
import { POWER } from '../../contracts/statistics/minimum-detectable-gain';

/** Numbers of tasks by the results of both arms. */
export interface PairedTasks {
  tasks: number;
  /** Tasks that only the version passed, and tasks that only base passed. */
  gained: number;
  lost: number;
}

/**
 * 95 % interval of a paired difference of shares, with one trial per task: Wald's interval after adding half a task to
 * each of the four cells (Agresti and Min 2005, Statistics in Medicine 24:729-740). It is valid for a few dozen tasks,
 * and has a positive width even if no task differs.
 * @param z half the interval's width in standard deviations, for another confidence level.
 */
export function pairedGain({ tasks, gained, lost }: PairedTasks, z = Z95): Interval {
  const n = tasks + 2;
  const [up, down] = [gained + 0.5, lost + 0.5];
  const centre = (up - down) / n;
  const reach = (z * Math.sqrt(up + down - (up - down) ** 2 / n)) / n;
  return {
    estimate: tasks === 0 ? 0 : (gained - lost) / tasks,
    low: Math.max(-1, centre - reach),
    high: Math.min(1, centre + reach),
  };
}

/** Interval of the difference of two independent estimates with intervals (MOVER; Zou and Donner 2008). */
export function changeOf(now: Interval, before: Interval): Interval {
  const estimate = now.estimate - before.estimate;
  return {
    estimate,
    low: estimate - Math.hypot(now.estimate - now.low, before.high - before.estimate),
    high: estimate + Math.hypot(now.high - now.estimate, before.estimate - before.low),
  };
}

/** The smallest loss that this uncertainty can detect: its whole interval is below 0 with probability `POWER`. */
export function detectableLoss({ low, high }: Interval): number {
  return Math.min(2, (Z95 + normalQuantile(POWER)) * ((high - low) / (2 * Z95)));
}
