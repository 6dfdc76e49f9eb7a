/**
 * Which adapters help. The tasks of a left-out adapter go to base, so the effect of an adapter does not depend on the
 * other adapters. Judging each adapter alone gives the same set as removing the most harmful one at a time.
 */
import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import { NONE_LABEL } from '../../../contracts/names';
import { meanOrZero } from '../../statistics/mean';
import { CLEARLY, type Decisions, LEAST_TASKS, standardErrorOf } from './compare-decisions';
import { upperLoss } from './harm-bound';
import type { KnownOutcomes } from './known-outcomes';

/** An adapter's figures under a kind's decisions. */
type AdapterRow = RouterChoice['adapters'][number];

/** Number of folds into which the tasks are split for the cross-validated test of `harms`. */
const PARTS = 5;

/**
 * Whether these gains, in random order, show harm, by a cross-validated test. For each fifth of the tasks, the other
 * four fifths decide whether to leave the arm out. The arm does harm if these decisions together would have avoided a
 * loss. Harm that shows only in the tasks on which it was found does not count, and a mean near zero rarely counts.
 */
export function harms(gains: readonly number[]): boolean {
  if (gains.length < LEAST_TASKS || meanOrZero(gains) >= 0) return false;
  let saved = 0;
  for (let part = 0; part < PARTS; part++) {
    const others = gains.filter((_, place) => place % PARTS !== part);
    if (meanOrZero(others) >= 0) continue;
    gains.forEach((gain, place) => (saved -= place % PARTS === part ? gain : 0));
  }
  return saved > 0;
}

/**
 * The figures of each adapter under a kind's decisions on `tasks`, and whether the adapter is left out. `tasks` must be
 * in the random order.
 */
export function adaptersThrough(
  { chosen }: Decisions,
  capabilityIds: readonly string[],
  tasks: readonly number[],
  known: KnownOutcomes,
): AdapterRow[] {
  return capabilityIds.map((capabilityId) => {
    const gainsOn = (some: readonly number[]) => some.flatMap((task) => known.gain(task, capabilityId) ?? []);
    const gains = gainsOn(tasks.filter((task) => chosen[task] === capabilityId));
    const alone = gainsOn(tasks);
    const reason = harms(gains) ? 'routing' : harmsAlone(gains, alone) ? 'alone' : null;
    return {
      capabilityId,
      tasks: gains.length,
      gain: meanOrZero(gains),
      leftOut: reason !== null,
      ...(reason && { reason }),
      ...(gains.length > 0 && { standardError: standardErrorOf(gains), lossBound: lossBoundOf(gains) }),
      ...(alone.length > 0 && { alone: { tasks: alone.length, gain: meanOrZero(alone) } }),
    };
  });
}

const lossBoundOf = (gains: readonly number[]): number => upperLoss(gains.map((gain) => -gain)).bound;

/**
 * Whether an adapter gains nothing on the tasks that the router gave it, and clearly loses over all tasks that it
 * played. A gain on its routed tasks outweighs such a loss: other kinds of router may have given it unsuitable tasks.
 */
function harmsAlone(gains: readonly number[], alone: readonly number[]): boolean {
  if (gains.length === 0 || meanOrZero(gains) > 0 || !harms(alone)) return false;
  return -meanOrZero(alone) > CLEARLY * standardErrorOf(alone);
}

/** Capabilities that are left out. */
export const leftOutOf = (adapters: readonly AdapterRow[]): string[] =>
  adapters.filter(({ leftOut }) => leftOut).map(({ capabilityId }) => capabilityId);

/** Base gets the tasks of adapters that are left out. */
export function withoutLosers({ kind, chosen }: Decisions, adapters: readonly AdapterRow[]): Decisions {
  const leftOut = leftOutOf(adapters);
  return { kind, chosen: chosen.map((arm) => (leftOut.includes(arm) ? NONE_LABEL : arm)) };
}

/**
 * Further tasks for adapters whose loss on their own tasks may exceed `margin`. Each adapter gets as many tasks as it
 * had; adapters with the widest bound come first. `tasks` are the tasks that were compared.
 */
export function contestedTasks(
  { chosen }: Decisions,
  adapters: readonly AdapterRow[],
  order: readonly number[],
  tasks: readonly number[],
  margin: number,
): number[] {
  const compared = new Set(tasks);
  return adapters
    .map((row) => ({ ...row, lossBound: row.lossBound ?? upperLoss([]).bound }))
    .filter(({ leftOut, lossBound }) => !leftOut && lossBound > margin)
    .sort((a, b) => b.lossBound - a.lossBound)
    .flatMap(({ capabilityId, tasks: had }) =>
      order.filter((task) => chosen[task] === capabilityId && !compared.has(task)).slice(0, Math.max(LEAST_TASKS, had)),
    );
}
