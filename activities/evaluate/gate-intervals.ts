import type { Evaluation, Interval } from '../../contracts/artifacts/evaluation';
import type { Judging } from '../../contracts/artifacts/evaluation-plan';
import { bootstrapMeans, type BootstrapOptions, type Column } from '../statistics/bootstrap';
import { type ArmTable, armTable, type OutcomeTable, taskRates } from './outcome-table';
import { regressionAgainstBase } from './regression';

/**
 * What has to be proved for a promotion, with intervals at the confidence of this comparison. The draws are those of
 * the other figures, so that the estimates are the same.
 */
export function gateIntervals(
  table: OutcomeTable,
  judging: Judging,
  options: BootstrapOptions,
): NonNullable<Evaluation['judged']> {
  const bootstrap = { ...options, confidence: judging.confidence };
  const routed = armTable(table, 'routed');
  const base = armTable(table, 'base');
  const incumbent = table.arms.get('incumbent');
  const rivals = [base, ...(incumbent ? [incumbent] : [])];
  const [routedMinusBase, routedMinusIncumbent = null] = bootstrapMeans(
    rivals.map((rival) => minus(routed, rival)),
    bootstrap,
  ) as [Interval, Interval | undefined];
  const { tasks, loss } = regressionAgainstBase(incumbent ?? base, routed, bootstrap);
  return { ...judging, routedMinusBase, routedMinusIncumbent, loss: tasks === 0 ? null : loss };
}

function minus(arm: ArmTable, rival: ArmTable): Column {
  const rates = taskRates(rival);
  return { values: taskRates(arm).map((rate, task) => rate - (rates[task] as number)), range: [-1, 1] };
}
