import type { Label } from '../../../contracts/artifacts/identification';

/** One byte for each label; 0 stands for a label that could not be obtained or was not asked for. */
export const LABEL_CODES = { none: 0, NA: 1, PRESENT: 2, LACKING: 3 } as const;

/** Byte of a label. */
export const labelCode = (label: Label | null): number => (label === null ? LABEL_CODES.none : LABEL_CODES[label]);

/** How the trajectories ended and which task each belongs to. Index: trajectory. */
export interface Outcomes {
  /** 1 for a success. */
  success: Uint8Array;
  /** Dense index of the task, from 0: trials of one task are not independent of each other. */
  task: Uint32Array;
  tasks: number;
}

/** Labels of one capability: for each labelling run, one code a trajectory. */
export type RunLabels = readonly Uint8Array[];

/** Sums of one capability over the trials of each task, for all runs: `[run * tasks + task]`. */
export interface TaskSums {
  tasks: number;
  runs: number;
  /** Failures of a task, labelled or not; the same in every run. */
  failures: Float64Array;
  /** Failures labelled LACKING. */
  failureLacking: Float64Array;
  /** Failures labelled LACKING or PRESENT. */
  failureApplicable: Float64Array;
  successLacking: Float64Array;
  successApplicable: Float64Array;
}

/** Outcomes of trajectories; tasks are numbered as they first come. */
export function outcomesOf(trajectories: Iterable<{ success: boolean; task: number | string }>): Outcomes {
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

/** Adds the labels of one capability up by task and run. */
export function taskSums({ success, task, tasks }: Outcomes, labels: RunLabels): TaskSums {
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
