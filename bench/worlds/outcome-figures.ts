/** Figures from a table of outcomes: what routing could have gained at most, and what one way of serving did gain. */
import type { Interval } from '../../contracts/artifacts/evaluation';
import { mean } from '../../activities/statistics/mean';
import { randomSource } from '../../activities/statistics/random';

/** Outcomes of every arm on every held-out task. The first arm is the base model. */
export interface OutcomeTable {
  seeds: readonly number[];
  /** What kind of task each is, by the environment's tags. Only a measurement may read them. */
  groups: readonly string[];
  /** Capability ids, `none` for base and `mixed`. */
  arms: readonly string[];
  trials: number;
  /** Passes (1) and failures (0): `passes[arm][task][trial]`. */
  passes: readonly (readonly (readonly number[])[])[];
}

const SAMPLES = 4_000;
/** Fewest other tasks of a group; with fewer, all other tasks stand in for it. */
const LEAST_GROUP = 5;

/** Pass rate of each task under one arm for each. */
export function ratesOf(table: OutcomeTable, armOf: (task: number) => string): number[] {
  return table.seeds.map((_, task) => mean(outcomesOf(table, armOf(task), task)));
}

function outcomesOf({ arms, passes }: OutcomeTable, arm: string, task: number): readonly number[] {
  const row = passes[arms.indexOf(arm)]?.[task];
  if (row === undefined) throw new RangeError(`The table has no outcomes of the arm ${JSON.stringify(arm)}.`);
  return row;
}

/**
 * A lower bound of what perfect routing over the arms reaches, for each task: the arm is chosen on one half of the
 * trials, by the task's own passes and, with equal weight, those of the other tasks of its group, and scored on the
 * other half; then the other way round. A choice never sees the trials that it is scored on.
 */
export function crossFittedOracle(table: OutcomeTable, arms: readonly string[] = table.arms): number[] {
  const half = Math.floor(table.trials / 2);
  if (half < 1) throw new RangeError(`Choosing and scoring need two trials at least, not ${table.trials}.`);
  const halves = [
    { from: 0, to: half },
    { from: half, to: table.trials },
  ];
  const scored = halves.map(({ from, to }, place) => {
    const other = halves[1 - place] as { from: number; to: number };
    const seen = arms.map((arm) => table.seeds.map((_, task) => mean(outcomesOf(table, arm, task).slice(from, to))));
    return table.seeds.map((_, task) => {
      const scores = seen.map((rates) => (rates[task] ?? 0) + groupRate(rates, table.groups, task));
      const best = scores.indexOf(Math.max(...scores));
      return mean(outcomesOf(table, arms[best] as string, task).slice(other.from, other.to));
    });
  });
  return table.seeds.map((_, task) => mean(scored.map((rates) => rates[task] as number)));
}

/** Mean of the other tasks of a task's group. */
function groupRate(rates: readonly number[], groups: readonly string[], task: number): number {
  const alike = rates.filter((_, other) => other !== task && groups[other] === groups[task]);
  return mean(alike.length >= LEAST_GROUP ? alike : rates.filter((_, other) => other !== task));
}

/** An upper bound for each task: the best arm's rate in the very trials that it is chosen by. Counts luck. */
export function ceilingOf(table: OutcomeTable): number[] {
  return table.seeds.map((_, task) => Math.max(...table.arms.map((arm) => mean(outcomesOf(table, arm, task)))));
}

/** Gains over base of one way of serving, and of the oracle, task by task. */
interface Gains {
  own: readonly number[];
  oracle: readonly number[];
}

/** Share of the oracle's gain that a way of serving has, with a 95 % interval over resampled tasks. */
export function shareOfOracle({ own, oracle }: Gains, seed: number): Interval {
  const shares = resample(own.length, seed, (tasks) => sum(own, tasks) / sum(oracle, tasks)).filter(Number.isFinite);
  return { estimate: mean(own) / mean(oracle), ...ends(shares) };
}

/** Mean over tasks with a 95 % interval over resampled tasks. */
export function meanOverTasks(values: readonly number[], seed: number): Interval {
  return { estimate: mean(values), ...ends(resample(values.length, seed, (t) => sum(values, t) / values.length)) };
}

function resample(count: number, seed: number, statistic: (tasks: readonly number[]) => number): number[] {
  const random = randomSource(seed);
  return Array.from({ length: SAMPLES }, () => statistic(Array.from({ length: count }, () => random.below(count))));
}

const sum = (values: readonly number[], tasks: readonly number[]) =>
  tasks.reduce((total, task) => total + (values[task] ?? 0), 0);

function ends(samples: number[]): { low: number; high: number } {
  const sorted = samples.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
  return { low: at(0.025), high: at(0.975) };
}
