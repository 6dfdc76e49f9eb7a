/** The yield of rollouts: the gains of the best kind and of the oracle after each step of the competition. */
import type { Spending } from '../../../contracts/artifacts/router-choice';
import { MIXED, NONE_LABEL } from '../../../contracts/names';
import { meanOrZero } from '../../statistics/mean';
import { attainableRates } from '../oracle';
import { type Decisions, standardErrorOf } from './compare-decisions';
import type { KnownOutcomes } from './known-outcomes';
import type { RoutingTask } from '../../../routing/labelled-tasks';

/**
 * The gains of the best kind and of the oracle. `order` is the random order of tasks or its beginning. Only the tasks
 * before the first one without the kind's choice played are judged, because only a prefix of the random order is a
 * random sample. Those whose trials all failed are left out.
 */
export function spendingAfter(
  spent: Pick<Spending, 'step' | 'rollouts'>,
  best: Decisions,
  order: readonly number[],
  tasks: readonly RoutingTask[],
  known: KnownOutcomes,
): Spending {
  const gainOf = (task: number) => known.gain(task, best.chosen[task]!);
  const unplayed = order.findIndex((task) => !known.wasPlayed(task, best.chosen[task]!));
  const judged = (unplayed < 0 ? order : order.slice(0, unplayed)).filter((task) => gainOf(task) !== null);
  const gains = judged.map((task) => gainOf(task)!);
  const arms = [NONE_LABEL, ...new Set(tasks.flatMap(({ needs }) => needs)), MIXED];
  const oracle = attainableRates(
    arms.map((arm) => judged.map((task) => known.of(known.seedOf(task), arm))),
    judged.map((task) => tasks[task]!.needs.join(' ')),
  );
  return {
    ...spent,
    kind: best.kind,
    tasks: judged.length,
    gain: meanOrZero(gains),
    standardError: standardErrorOf(gains),
    oracleGain: meanOrZero(oracle.map((rate, i) => rate - (known.rate(judged[i]!, NONE_LABEL) ?? 0))),
  };
}
