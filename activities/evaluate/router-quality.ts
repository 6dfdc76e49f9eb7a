import type { Evaluation, RoutingRecord } from '../../contracts/artifacts/evaluation';
import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type { CapabilityBrief } from '../../contracts/messages/run-context';
import { NONE_LABEL } from '../../contracts/names';
import { routerMenu } from '../../routing/router-prompt';
import { type BootstrapOptions, bootstrapMean } from '../statistics/bootstrap';
import { mean } from '../statistics/mean';
import { armTable, type OutcomeTable, taskRates } from './outcome-table';

/** Kind of the tasks with more than one tag. */
const SEVERAL = 'several';

/** Kind of all tasks if the environment gives no tags. */
export const UNTAGGED = 'untagged';

/**
 * Kind of each task: its only tag, `several` or `none`. If no task has a tag, the environment does not use tags. Then
 * all tasks are `untagged`.
 */
export function taskKinds(table: OutcomeTable): string[] {
  if (table.tags.every((tags) => tags.length === 0)) return table.tags.map(() => UNTAGGED);
  return table.tags.map((tags) => (tags.length > 1 ? SEVERAL : (tags[0] ?? NONE_LABEL)));
}

/** Kinds in the order of a report: single tags by name, then `several`, then `none`. */
export function orderedKinds(kinds: readonly string[]): string[] {
  const rank = (kind: string) => (kind === SEVERAL ? 1 : kind === NONE_LABEL ? 2 : kind === UNTAGGED ? 3 : 0);
  return [...new Set(kinds)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/**
 * The right choice for each single tag and for `none`.
 *
 * Tags are the environment's words, and capabilities are the analyst's. Nothing says which belong together, and names
 * must not be trusted. The effect decides. The right choice is the capability whose adapter, when it answers every
 * task, raises this kind's pass rate most, if the paired interval of that gain is above zero. Otherwise it is `none`,
 * because the base model does as well. The intervals are widened for the number of adapters (Bonferroni), so that luck
 * seldom makes a useless adapter the right choice. The router's own results are not used. Tasks with several tags have
 * no single right choice and are left out.
 */
export function expectedChoices(
  table: OutcomeTable,
  kinds: readonly string[],
  adapters: readonly TrainedAdapter[],
  options: BootstrapOptions,
): Evaluation['router']['expected'] {
  const base = taskRates(armTable(table, 'base'));
  const alone = adapters.map((adapter) => ({
    id: adapter.capabilityId,
    rates: taskRates(armTable(table, adapter.name)),
  }));
  const confidence = 1 - (1 - options.confidence) / Math.max(1, alone.length);
  return orderedKinds(kinds)
    .filter((kind) => kind !== SEVERAL && kind !== UNTAGGED)
    .map((tag) => {
      const tasks = kinds.flatMap((kind, task) => (kind === tag ? [task] : []));
      const gains = alone.map(({ id, rates }) => {
        const differences = tasks.map((task) => (rates[task] as number) - (base[task] as number));
        return { id, estimate: mean(differences), differences };
      });
      const best = gains.sort((a, b) => b.estimate - a.estimate)[0];
      if (best === undefined || best.estimate <= 0) return { tag, capabilityId: NONE_LABEL };
      const interval = bootstrapMean(best.differences, [-1, 1], { ...options, confidence });
      return { tag, capabilityId: interval.low > 0 ? best.id : NONE_LABEL };
    });
}

/**
 * The router's confusion matrix over the compared tasks, and its accuracy against the expected choices. Tasks without a
 * routing record are left out.
 */
export function routerQuality(
  table: OutcomeTable,
  kinds: readonly string[],
  capabilities: readonly CapabilityBrief[],
  routing: readonly RoutingRecord[],
  expected: Evaluation['router']['expected'],
): Omit<Evaluation['router'], 'choice'> {
  const records = new Map(routing.map((record) => [record.seed, record]));
  const right = new Map(expected.map((e) => [e.tag, e.capabilityId]));
  const cells = new Map<string, { truth: string; chosen: string; tasks: number }>();
  const hits: number[] = [];
  const covered: number[] = [];
  table.seeds.forEach((seed, task) => {
    const record = records.get(seed);
    if (record === undefined) return;
    const truth = kinds[task] as string;
    const key = `${truth}\n${record.capabilityId}`;
    const cell = cells.get(key) ?? { truth, chosen: record.capabilityId, tasks: 0 };
    cells.set(key, { ...cell, tasks: cell.tasks + 1 });
    if (record.coveredMass !== null) covered.push(record.coveredMass);
    if (right.has(truth)) hits.push(right.get(truth) === record.capabilityId ? 1 : 0);
  });
  return {
    labels: routerMenu(capabilities).map(({ label, capabilityId }) => ({ label, capabilityId })),
    expected,
    confusion: [...cells.values()].sort((a, b) => (`${a.truth} ${a.chosen}` < `${b.truth} ${b.chosen}` ? -1 : 1)),
    meanCoveredMass: covered.length === 0 ? null : mean(covered),
    accuracy: hits.length === 0 ? null : mean(hits),
  };
}
