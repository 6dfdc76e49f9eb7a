import { z } from 'zod';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import { mean } from '../statistics/mean';

/** The part of a trajectory that a comparison needs; the messages are not kept in memory. */
export const outcomeSchema = z.object({
  task: z.object({ seed: z.int() }),
  trial: z.int(),
  success: z.boolean(),
  failedBecause: trajectorySchema.shape.failedBecause,
  tags: z.array(z.string()),
});
export type Outcome = z.infer<typeof outcomeSchema>;

/**
 * The arms cannot be compared: no task was played completely by all of them, a trial occurs twice, or an arm is
 * missing.
 */
export class UnpairedError extends Error {
  readonly type = 'Evaluate.Unpaired';
}

/**
 * Passes (1) and failures (0) of one arm: `passes[task][trial]`, tasks and trials in the order of the table. Null: the
 * episode failed, so the trial has no result. Each task has a trial with a result.
 */
export interface ArmTable {
  name: string;
  passes: (number | null)[][];
}

/** The trials of a task that have a result. */
export const playedOf = (trials: readonly (number | null)[]): number[] => trials.filter((one) => one !== null);

/** The outcomes of all arms on the same tasks and trials. */
export interface OutcomeTable {
  seeds: number[];
  /** Ground-truth tags of each task, sorted. */
  tags: string[][];
  /** Number of trials of each task, the same for all, those that failed included. */
  trials: number;
  arms: Map<string, ArmTable>;
  /** Number of tasks left out because at least one arm did not run them completely. */
  dropped: number;
  /** Number of tasks left out because all their trials failed in at least one arm. */
  failed: number;
}

/**
 * Pairs the arms by task and trial. A task is kept if every arm has its trials 0 to `trials` - 1, and in every arm at
 * least one of them has a result. A failed trial says nothing about the arm that it failed in, so the other trials of
 * the task speak for it.
 * @throws UnpairedError if a trial occurs twice or no task is left.
 */
export function pairOutcomes(
  arms: readonly { name: string; outcomes: readonly Outcome[] }[],
  trials: number,
): OutcomeTable {
  const byArm = arms.map((arm) => ({ name: arm.name, tasks: groupByTask(arm.name, arm.outcomes) }));
  const all = [...new Set(byArm.flatMap((arm) => [...arm.tasks.keys()]))].sort((a, b) => a - b);
  const trialsOf = (task: Map<number, Outcome> | undefined) =>
    Array.from({ length: trials }, (_, trial) => task?.get(trial));
  const complete = all.filter((seed) =>
    byArm.every((arm) => trialsOf(arm.tasks.get(seed)).every((one) => one !== undefined)),
  );
  const seeds = complete.filter((seed) => byArm.every((arm) => trialsOf(arm.tasks.get(seed)).some(hasResult)));
  if (seeds.length === 0) {
    const sizes = byArm.map((arm) => `${arm.name} ${arm.tasks.size}`).join(', ');
    throw new UnpairedError(
      `No held-out task was run ${trials} times by every arm (tasks with a result: ${sizes}): ` +
        'run the evaluation stage again.',
    );
  }
  // A failed episode may have no tags, because it failed before it gave any.
  const tags = seeds.map((seed) => [...(trialsOf(byArm[0]?.tasks.get(seed)).find(hasResult)?.tags ?? [])].sort());
  const table = new Map<string, ArmTable>();
  for (const arm of byArm) {
    const passes = seeds.map((seed) =>
      trialsOf(arm.tasks.get(seed)).map((one) => (!hasResult(one) ? null : one.success ? 1 : 0)),
    );
    table.set(arm.name, { name: arm.name, passes });
  }
  const dropped = all.length - complete.length;
  return { seeds, tags, trials, arms: table, dropped, failed: complete.length - seeds.length };
}

const hasResult = (outcome: Outcome | undefined): outcome is Outcome =>
  outcome !== undefined && outcome.failedBecause === undefined;

function groupByTask(arm: string, outcomes: readonly Outcome[]): Map<number, Map<number, Outcome>> {
  const tasks = new Map<number, Map<number, Outcome>>();
  for (const outcome of outcomes) {
    const trials = tasks.get(outcome.task.seed) ?? new Map<number, Outcome>();
    if (trials.has(outcome.trial)) {
      throw new UnpairedError(
        `Arm ${arm} has trial ${outcome.trial} of task ${outcome.task.seed} twice: ` +
          'its trajectories artifact is wrong, run the evaluation stage again.',
      );
    }
    trials.set(outcome.trial, outcome);
    tasks.set(outcome.task.seed, trials);
  }
  return tasks;
}

/**
 * The table of one arm.
 * @throws UnpairedError if the arm does not exist.
 */
export function armTable(table: OutcomeTable, name: string): ArmTable {
  const arm = table.arms.get(name);
  if (arm === undefined) throw new UnpairedError(`The comparison has no arm called ${name}.`);
  return arm;
}

/** Pass rate of each task over its trials that have a result. */
export const taskRates = (arm: ArmTable): number[] => arm.passes.map((trials) => mean(playedOf(trials)));
