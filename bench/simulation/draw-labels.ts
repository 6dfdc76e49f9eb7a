import type { RandomSource } from '../../activities/statistics/random';
import type { TrajectoryOutcomes } from '../../activities/identify/verdicts/task-sums';
import { LABEL_CODES } from '../../activities/identify/verdicts/label-codes';

/** A capability whose true rates are known. */
export interface Truth {
  /** ER+ and ER-: P(LACKING | not NA) among successes and failures. */
  errorRateSuccess: number;
  errorRateFailure: number;
  /** P(LACKING | failure); at most errorRateFailure. */
  coverage: number;
}

/** How the labels come about. */
export interface World {
  tasks: number;
  trials: number;
  runs: number;
  /** P(failure) of a trajectory, averaged over tasks. */
  failureRate: number;
  /** Chance that a trial takes its task's draw instead of one of its own: trials of a task resemble each other. */
  taskShare: number;
  /** Chance that a labelling run draws a label anew instead of reading it off the trajectory: runs disagree. */
  noise: number;
}

/**
 * Outcomes and labels of one capability. Whether a task calls for it is drawn once for the task; outcome and lack are
 * drawn for each trajectory, with a share taken from its task; each run then relabels a share of the trajectories from
 * the same distribution. So every run has exactly the true rates in expectation, whatever the dependence.
 */
export function drawLabels(
  truth: Truth,
  world: World,
  random: RandomSource,
): { outcomes: TrajectoryOutcomes; labels: Uint8Array[] } {
  const { tasks, trials, runs, failureRate, taskShare, noise } = world;
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
export const SETTINGS: readonly Truth[] = [0.1, 0.4].flatMap((errorRateSuccess) =>
  [0.1, 0.15, 0.2, 0.25, 0.3].flatMap((gap) =>
    [0.06, 0.1, 0.14, 0.2].map((coverage) => ({
      errorRateSuccess,
      errorRateFailure: Number((errorRateSuccess + gap).toFixed(10)),
      coverage,
    })),
  ),
);
