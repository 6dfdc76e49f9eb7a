/** Upper bound of a router's loss against base, estimated from the compared train tasks. */
import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import { MIXED, NONE_LABEL } from '../../../contracts/names';
import { KINDS } from '../../../routing/kinds';
import { studentOneSided95 } from '../../statistics/student';
import type { Decisions } from './compare-decisions';
import { FOLLOWED, type KnownOutcomes } from './known-outcomes';

/**
 * Pseudo-tasks added to each arm: one loss, one win, two ties. Without them, a few tasks that all end alike would have
 * no spread, and their bound would seem certain (the plus-four rule of Agresti and Caffo 2000, The American
 * Statistician 54:280-288).
 */
const ADDED = { tasks: 4, squares: 2 };

/** The mean, and its variance, with the added tasks. */
function moderated(losses: readonly number[]): { mean: number; variance: number; tasks: number } {
  const tasks = losses.length + ADDED.tasks;
  const mean = losses.reduce((sum, loss) => sum + loss, 0) / tasks;
  const squares = losses.reduce((sum, loss) => sum + loss * loss, ADDED.squares) / tasks;
  return { mean, variance: Math.max(0, squares - mean * mean) / tasks, tasks };
}

/** Losses on tasks of one arm, and the share of all tasks that the arm gets. */
interface Stratum {
  losses: readonly number[];
  share: number;
}

/** One-sided upper 95 % bound of the mean loss over strata whose shares sum to 1. */
function boundOf(strata: readonly Stratum[]): number {
  const parts = strata.map(({ losses, share }) => ({ ...moderated(losses), share }));
  const mean = parts.reduce((sum, part) => sum + part.share * part.mean, 0);
  const variance = parts.reduce((sum, part) => sum + part.share ** 2 * part.variance, 0);
  const freedom = parts.reduce((sum, { tasks }) => sum + tasks - 1, 0);
  return Math.min(1, mean + studentOneSided95(freedom) * Math.sqrt(variance));
}

/** Mean loss (0 without tasks), and its one-sided upper 95 % bound. */
export function upperLoss(losses: readonly number[]): { estimate: number; bound: number } {
  const estimate = losses.length === 0 ? 0 : losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
  return { estimate, bound: boundOf([{ losses, share: 1 }]) };
}

/**
 * The possible loss of a router on the tasks that it does not give to base. Each arm is a stratum, weighted by its
 * share of the tasks, because some arms played more tasks than others. `tasks` are the compared tasks, a random sample
 * of each adapter's tasks. For the mixed adapter, and for conversations that switched adapters, all played tasks count.
 * Null if base gets every task.
 */
export function harmOf(
  { kind, chosen }: Decisions,
  tasks: readonly number[],
  known: KnownOutcomes,
  { margin, bought }: { margin: number; bought: number },
): NonNullable<RouterChoice['harm']> | null {
  const compared = new Set(tasks);
  // The last round plays the mixed adapter only on tasks where kinds that need it differ from others. These tasks are
  // not a random sample.
  const sampled = (task: number, arm: string) =>
    compared.has(task) || arm === FOLLOWED || (arm === MIXED && !KINDS[kind].needs.mixed);
  const arms = [...new Set(chosen)].filter((arm) => arm !== NONE_LABEL);
  const given = chosen.filter((arm) => arm !== NONE_LABEL).length;
  if (given === 0) return null;
  const strata = arms.map((arm): Stratum => {
    const own = chosen.flatMap((other, task) => (other === arm ? [task] : []));
    const gains = own.flatMap((task) => (sampled(task, arm) ? (known.gain(task, arm) ?? []) : []));
    return { losses: gains.map((gain) => -gain), share: own.length / given };
  });
  const played = strata.filter(({ losses }) => losses.length > 0);
  const weight = played.reduce((sum, { share }) => sum + share, 0);
  const loss = played.reduce((sum, { losses, share }) => sum + (share / weight) * upperLoss(losses).estimate, 0);
  const bound = boundOf(strata);
  const share = given / chosen.length;
  return {
    tasks: strata.reduce((sum, { losses }) => sum + losses.length, 0),
    given: share,
    loss,
    bound,
    boundOverall: bound * share,
    margin,
    above: bound > margin,
    bought,
  };
}
