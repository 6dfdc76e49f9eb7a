/**
 * Compares the decisions of routers on train tasks. It compares them only where they differ, so rollouts are bought
 * only there. A task is named by its index among the tasks.
 */
import type { Competitor, RouterChoice } from '../../../contracts/artifacts/router-choice';
import { type RouterKind, ROUTER_KINDS } from '../../../contracts/config/router-kinds';
import { NONE_LABEL } from '../../../contracts/names';
import { mean, meanOrZero, sampleDeviation } from '../../statistics/mean';
import type { ArmOnTask, KnownOutcomes } from './known-outcomes';

/** The decisions of one kind of router, each made by a router that was fitted without the task. */
export interface Decisions {
  kind: RouterKind;
  /** Capability, or `none`, for each task. */
  chosen: readonly string[];
}

/**
 * A difference is clear if it is at least this many standard errors. Few tasks are compared, so one standard error is
 * often chance.
 */
export const CLEARLY = 2;

/**
 * The mixed adapter is chosen as the simpler one only if it is at most this far behind the best router. Few tasks are
 * compared, so one standard error alone would allow several points (docs/adr/0020).
 */
const MIXED_MAY_LOSE = 0.01;

/** Leaving out an adapter, or eliminating a kind of router, needs at least this many tasks. */
export const LEAST_TASKS = 5;

/**
 * The arms to play next, and the number of tasks of the order that can be compared afterwards. A task on which all
 * routers decide alike needs no rollouts. The list ends before the first task whose arms exceed `budget`, which counts
 * arms.
 */
export function armsToPlay(
  decisions: readonly Decisions[],
  order: readonly number[],
  known: KnownOutcomes,
  budget: number,
): { missing: ArmOnTask[]; compared: number } {
  const missing: ArmOnTask[] = [];
  for (const [place, task] of order.entries()) {
    const arms = [...new Set(decisions.map(({ chosen }) => chosen[task]!))];
    const unknown = arms.length < 2 ? [] : arms.filter((arm) => !known.wasPlayed(task, arm));
    if (missing.length + unknown.length > budget) return { missing, compared: place };
    missing.push(...unknown.map((arm) => ({ seed: known.seedOf(task), arm })));
  }
  return { missing, compared: order.length };
}

/** The comparison of two kinds over tasks: mean difference of pass rates, and its standard error. */
export interface Difference {
  estimate: number;
  standardError: number;
}

/**
 * `a` minus `b`, over the tasks on which they decide alike or the outcomes of both decisions are known. A task on which
 * every trial of a decision failed is left out.
 */
export function difference(a: Decisions, b: Decisions, tasks: readonly number[], known: KnownOutcomes): Difference {
  const values = tasks.flatMap((task) => {
    const [one, other] = [a.chosen[task]!, b.chosen[task]!];
    if (one === other) return 0;
    const [rate, otherRate] = [known.rate(task, one), known.rate(task, other)];
    return rate === null || otherRate === null ? [] : rate - otherRate;
  });
  return { estimate: meanOrZero(values), standardError: standardErrorOf(values) };
}

/** Standard error of the mean of these values; 0 for fewer than two. */
export const standardErrorOf = (values: readonly number[]): number =>
  (sampleDeviation(values) ?? 0) / Math.sqrt(Math.max(1, values.length));

/** The kind with the highest pass rate; of two equal ones, the simpler. */
export function bestOf(decisions: readonly Decisions[], tasks: readonly number[], known: KnownOutcomes): Decisions {
  return decisions.reduce((best, kind) => (difference(kind, best, tasks, known).estimate > 0 ? kind : best));
}

/** The kinds that are not far behind the best. */
export function survivors(
  decisions: readonly Decisions[],
  tasks: readonly number[],
  known: KnownOutcomes,
): Decisions[] {
  const best = bestOf(decisions, tasks, known);
  return decisions.filter((kind) => {
    const differing = tasks.filter((task) => kind.chosen[task] !== best.chosen[task]);
    const { estimate, standardError } = difference(best, kind, tasks, known);
    return differing.length < LEAST_TASKS || estimate <= CLEARLY * standardError;
  });
}

/**
 * The simplest kind within one standard error of the best. The mixed adapter must also be at most a point behind it.
 * Base is chosen only if it is better than all others: the held-out tasks judge a gain that these few tasks do not
 * prove.
 */
export function chooseKind(decisions: readonly Decisions[], tasks: readonly number[], known: KnownOutcomes): Decisions {
  const bySimplicity = [...decisions].sort((a, b) => ROUTER_KINDS.indexOf(a.kind) - ROUTER_KINDS.indexOf(b.kind));
  const base = bySimplicity.find(({ kind }) => kind === 'base');
  const rivals = bySimplicity.filter(({ kind }) => kind !== 'base');
  if (rivals.length === 0) return bySimplicity[0]!;
  const best = bestOf(rivals, tasks, known);
  if (base !== undefined && difference(base, best, tasks, known).estimate > 0) return base;
  const isNear = (kind: Decisions) => {
    const { estimate, standardError } = difference(best, kind, tasks, known);
    return estimate <= (kind.kind === 'mixed' ? Math.min(standardError, MIXED_MAY_LOSE) : standardError);
  };
  return rivals.find(isNear) ?? best;
}

/**
 * The effect of the mixed adapter on tasks that the best router gives to base. An average would hide it, because gains
 * elsewhere can compensate for losses on these tasks. Null if there are too few of these tasks.
 */
export function mixedOnBaseTasks(
  rivals: { mixed: Decisions; router: Decisions; base: Decisions },
  compared: readonly number[],
  known: KnownOutcomes,
): NonNullable<RouterChoice['mixedOnBaseTasks']> | null {
  const tasks = compared.filter((task) => rivals.router.chosen[task] === NONE_LABEL);
  if (tasks.length < LEAST_TASKS) return null;
  const { estimate, standardError } = difference(rivals.mixed, rivals.base, tasks, known);
  return { tasks: tasks.length, gain: estimate, standardError, harms: -estimate > CLEARLY * standardError };
}

/**
 * A row of the report. `compared` has the tasks on which `kind` can be compared with base and with the best router;
 * `left` says that the kind fell behind.
 */
export function competitorRow(
  kind: Decisions,
  rivals: { base: Decisions; best: Decisions },
  compared: { withBase: readonly number[]; withBest: readonly number[] },
  known: KnownOutcomes,
  left: boolean,
): Competitor {
  const gain = difference(kind, rivals.base, compared.withBase, known);
  const behind = difference(rivals.best, kind, compared.withBest, known);
  return {
    kind: kind.kind,
    gain: gain.estimate,
    standardError: gain.standardError,
    behind: behind.estimate,
    behindError: behind.standardError,
    routed: mean(kind.chosen.map((arm) => (arm === NONE_LABEL ? 0 : 1))),
    left,
  };
}
