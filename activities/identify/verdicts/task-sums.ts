import { LABEL_CODES, type RunLabels } from './label-codes';

/** The outcome and the task of each trajectory; both arrays are indexed by trajectory. */
export interface TrajectoryOutcomes {
  /** 1 for a success. */
  success: Uint8Array;
  /** Index of the task, from 0 without gaps. It is needed because trials of one task depend on each other. */
  task: Uint32Array;
  /** Number of tasks. */
  tasks: number;
}

/**
 * Label counts of one capability for each task and labelling run, summed over the task's trials. All arrays except
 * `failures` are indexed by `run * tasks + task`.
 */
export interface TaskSums {
  tasks: number;
  runs: number;
  /** All failures of each task, labelled or not; indexed by task, since they are the same in every run. */
  failures: Float64Array;
  /** Failures labelled LACKING. */
  failureLacking: Float64Array;
  /** Number of failures labelled LACKING or PRESENT. */
  failureApplicable: Float64Array;
  /** Successes labelled LACKING. */
  successLacking: Float64Array;
  /** Number of successes labelled LACKING or PRESENT. */
  successApplicable: Float64Array;
}

/** Outcomes of trajectories. Tasks are numbered in the order of their first occurrence. */
export function trajectoryOutcomes(
  trajectories: Iterable<{ success: boolean; task: number | string }>,
): TrajectoryOutcomes {
  const index = new Map<number | string, number>();
  const success: number[] = [];
  const task: number[] = [];
  for (const trajectory of trajectories) {
    if (!index.has(trajectory.task)) index.set(trajectory.task, index.size);
    task.push(index.get(trajectory.task) as number);
    success.push(trajectory.success ? 1 : 0);
  }
  return { success: Uint8Array.from(success), task: Uint32Array.from(task), tasks: index.size };
}

/** The counts of one labelling run, summed over its tasks. */
export function runTotals(sums: TaskSums, run: number) {
  const total = (cells: Float64Array) =>
    cells.subarray(run * sums.tasks, (run + 1) * sums.tasks).reduce((a, b) => a + b, 0);
  return {
    successLacking: total(sums.successLacking),
    successApplicable: total(sums.successApplicable),
    failureLacking: total(sums.failureLacking),
    failureApplicable: total(sums.failureApplicable),
    failures: sums.failures.reduce((a, b) => a + b, 0),
  };
}

/** Sums the labels of one capability by task and run. */
export function taskSums({ success, task, tasks }: TrajectoryOutcomes, labels: RunLabels): TaskSums {
  const cells = () => new Float64Array(labels.length * tasks);
  const sums: TaskSums = {
    tasks,
    runs: labels.length,
    failures: new Float64Array(tasks),
    failureLacking: cells(),
    failureApplicable: cells(),
    successLacking: cells(),
    successApplicable: cells(),
  };
  for (let i = 0; i < task.length; i++) if (success[i] === 0) sums.failures[task[i]!]!++;
  labels.forEach((codes, run) => {
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i]!;
      if (code < LABEL_CODES.PRESENT) continue;
      const cell = run * tasks + task[i]!;
      (success[i] === 1 ? sums.successApplicable : sums.failureApplicable)[cell]!++;
      if (code === LABEL_CODES.LACKING) (success[i] === 1 ? sums.successLacking : sums.failureLacking)[cell]!++;
    }
  });
  return sums;
}
