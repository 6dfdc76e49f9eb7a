import type { RandomSource } from '../../../../activities/statistics/random';
import type { TrajectoryOutcomes } from '../../../../activities/identify/verdicts/task-sums';
import { LABEL_CODES } from '../../../../activities/identify/verdicts/label-codes';

/** A capability whose true rates are known. */
export interface TrueRates {
  /** ER+ and ER-: P(LACKING | not NA) among successes and failures. */
  errorRateSuccess: number;
  errorRateFailure: number;
  /** P(LACKING | failure); at most errorRateFailure. */
  coverage: number;
}

/** Sample sizes, and how trajectories and labelling runs depend on each other. */
export interface Design {
  tasks: number;
  trials: number;
  runs: number;
  /** P(failure) of a trajectory, averaged over tasks. */
  failureRate: number;
  /**
   * Probability that a trial takes its task's draw instead of its own, so that trials of a task resemble each other.
   */
  taskShare: number;
  /** Probability that a labelling run draws a label of its own instead of the trajectory's, so that runs disagree. */
  noise: number;
}

/**
 * Draws outcomes and labels of one capability. Whether a task calls for the capability is drawn once for the task.
 * Outcome and lack are drawn for each trajectory, a share of them from its task. Each run then relabels a share of the
 * trajectories from the same distribution. So every run has the true rates in expectation, however trials and runs
 * depend on each other.
 */
export function drawLabels(
  truth: TrueRates,
  design: Design,
  random: RandomSource,
): { outcomes: TrajectoryOutcomes; labels: Uint8Array[] } {
  const { tasks, trials, runs, failureRate, taskShare, noise } = design;
  const applicable = truth.coverage / truth.errorRateFailure;
  const n = tasks * trials;
  const success = new Uint8Array(n);
  const task = new Uint32Array(n);
  const labels = Array.from({ length: runs }, () => new Uint8Array(n));
  for (let t = 0, i = 0; t < tasks; t++) {
    const calledFor = random.uniform() < applicable;
    const taskOutcome = random.uniform();
    const taskLack = random.uniform();
    for (let trial = 0; trial < trials; trial++, i++) {
      const failed = (random.uniform() < taskShare ? taskOutcome : random.uniform()) < failureRate;
      const rate = failed ? truth.errorRateFailure : truth.errorRateSuccess;
      const lacks = (random.uniform() < taskShare ? taskLack : random.uniform()) < rate;
      success[i] = failed ? 0 : 1;
      task[i] = t;
      const seen = code(calledFor, lacks);
      for (const run of labels)
        run[i] = random.uniform() < noise ? code(random.uniform() < applicable, random.uniform() < rate) : seen;
    }
  }
  return { outcomes: { success, task, tasks }, labels };
}

const code = (calledFor: boolean, lacks: boolean): number =>
  !calledFor ? LABEL_CODES.NA : lacks ? LABEL_CODES.LACKING : LABEL_CODES.PRESENT;

/**
 * Forty capabilities around the thresholds of the paper (gap 0.20, coverage 0.10): five gaps, four coverages, two rates
 * among successes.
 */
export const SETTINGS: readonly TrueRates[] = [0.1, 0.4].flatMap((errorRateSuccess) =>
  [0.1, 0.15, 0.2, 0.25, 0.3].flatMap((gap) =>
    [0.06, 0.1, 0.14, 0.2].map((coverage) => ({
      errorRateSuccess,
      errorRateFailure: Number((errorRateSuccess + gap).toFixed(10)),
      coverage,
    })),
  ),
);
