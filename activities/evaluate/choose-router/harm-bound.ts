/** Upper bound of a router's loss against base, estimated from the compared train tasks. */
import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import { MIXED, NONE_LABEL } from '../../../contracts/names';
import { KINDS } from '../../../routing/kinds';
import { stratifiedMean, type Stratum } from '../../statistics/stratified-mean';
import type { Decisions } from './compare-decisions';
import { FOLLOWED, FOLLOWED_TOOLS, type KnownOutcomes } from './known-outcomes';

const SWITCHING = [FOLLOWED, FOLLOWED_TOOLS];

/** Mean loss (0 without tasks), and its one-sided upper 95 % bound. */
export function upperLoss(losses: readonly number[]): { estimate: number; bound: number } {
  const estimate = losses.length === 0 ? 0 : losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
  return { estimate, bound: stratifiedMean([{ values: losses, share: 1 }]).bound };
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
    compared.has(task) || SWITCHING.includes(arm) || (arm === MIXED && !KINDS[kind].needs.mixed);
  const arms = [...new Set(chosen)].filter((arm) => arm !== NONE_LABEL);
  const given = chosen.filter((arm) => arm !== NONE_LABEL).length;
  if (given === 0) return null;
  const strata = arms.map((arm): Stratum => {
    const own = chosen.flatMap((other, task) => (other === arm ? [task] : []));
    const gains = own.flatMap((task) => (sampled(task, arm) ? (known.gain(task, arm) ?? []) : []));
    return { values: gains.map((gain) => -gain), share: own.length / given };
  });
  const played = strata.filter(({ values }) => values.length > 0);
  const weight = played.reduce((sum, { share }) => sum + share, 0);
  const loss = played.reduce((sum, { values, share }) => sum + (share / weight) * upperLoss(values).estimate, 0);
  const { bound } = stratifiedMean(strata);
  const share = given / chosen.length;
  return {
    tasks: strata.reduce((sum, { values }) => sum + values.length, 0),
    given: share,
    loss,
    bound,
    boundOverall: bound * share,
    margin,
    above: bound > margin,
    bought,
  };
}
