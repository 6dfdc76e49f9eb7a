import type { Arm, CapabilityBrief, Evaluation, Interval, RoutingRecord, TrainedAdapter } from '../../contracts';
import { bootstrapMean } from './bootstrap';
import { evaluationCaveats } from './caveats';
import { oracleRates } from './oracle';
import { type ArmTable, armTable, mean, type OutcomeTable, taskRates, UnpairedError } from './outcomes';
import { namedSeed } from './random';
import { regressionAgainstBase } from './regression';
import { expectedChoices, orderedKinds, routerQuality, taskKinds, UNTAGGED } from './router-quality';

/** What the figures are made from. */
export interface EvaluateOptions {
  capabilities: readonly CapabilityBrief[];
  /** Each one's arm has the adapter's served name. */
  adapters: readonly TrainedAdapter[];
  routing: readonly RoutingRecord[];
  bootstrapSamples: number;
  confidence: number;
  /** The same seed and table give the same figures, to the last digit. */
  seed: number;
}

/**
 * All figures of an evaluation from paired outcomes. The table needs arms `base` and `routed`, one for each adapter and, where it was
 * trained, `mixed`. Throws UnpairedError when one is missing or there is no adapter.
 */
export function evaluateTable(table: OutcomeTable, options: EvaluateOptions): Evaluation {
  const { confidence, bootstrapSamples: samples, seed } = options;
  const interval = (name: string, values: readonly number[], range: readonly [number, number]): Interval =>
    bootstrapMean(values, { samples, confidence, seed: namedSeed(seed, name), range });
  const difference = (name: string, a: readonly number[], b: readonly number[]) =>
    interval(
      name,
      a.map((rate, task) => rate - (b[task] as number)),
      [-1, 1],
    );

  const base = armTable(table, 'base');
  const routed = armTable(table, 'routed');
  const baseRates = taskRates(base);
  const routedRates = taskRates(routed);
  const episodes = table.seeds.length * table.trials;
  const describe = (name: string, kind: Arm['kind'], rates: readonly number[]): Arm => ({
    name,
    kind,
    passRate: interval(`rate ${name}`, rates, [0, 1]),
    minusBase: kind === 'base' ? { estimate: 0, low: 0, high: 0 } : difference(`${name} minus base`, rates, baseRates),
    episodes: kind === 'oracle' ? 0 : episodes,
  });

  const single = options.adapters.map((adapter) => armTable(table, adapter.name));
  const adapters = single.map((arm) => describe(arm.name, 'adapter', taskRates(arm)));
  const bestSingle = adapters.reduce<Arm | null>((best, arm) => (best === null || arm.passRate.estimate > best.passRate.estimate ? arm : best), null);
  if (bestSingle === null) throw new UnpairedError('There is no adapter to compare: train at least one.');
  const mixed = table.arms.get('mixed');
  const { attainable, ceiling } = oracleRates(table, [base, ...single]);
  const { selectionBias, ...regression } = regressionAgainstBase(base, routed, { samples, confidence, seed: namedSeed(seed, 'regression') });
  const kinds = taskKinds(table);
  const expected = expectedChoices(table, kinds, options.adapters, { samples, confidence, seed });
  const oracleCeiling = mean(ceiling);
  return {
    tasks: table.seeds.length,
    trials: table.trials,
    confidence,
    bootstrapSamples: samples,
    base: describe('base', 'base', baseRates),
    bestSingle,
    routed: describe('routed', 'routed', routedRates),
    oracle: describe('oracle', 'oracle', attainable),
    oracleCeiling,
    ...(mixed && { mixed: describe('mixed', 'mixed', taskRates(mixed)) }),
    adapters,
    routedMinusBase: difference('routed minus base', routedRates, baseRates),
    routedMinusBestSingle: difference('routed minus best single', routedRates, taskRates(armTable(table, bestSingle.name))),
    ...(mixed && { routedMinusMixed: difference('routed minus mixed', routedRates, taskRates(mixed)) }),
    regression,
    byTag: kindsTable(kinds, base, routed, (kind, differences) => interval(`kind ${kind}`, differences, [-1, 1])),
    router: routerQuality(table, kinds, options.capabilities, options.routing, expected),
    caveats: evaluationCaveats({ table, adapters: single.length, oracleCeiling, selectionBias, confidence, samples }),
  };
}

function kindsTable(
  kinds: readonly string[],
  base: ArmTable,
  routed: ArmTable,
  interval: (kind: string, differences: number[]) => Interval,
): Evaluation['byTag'] {
  const baseRates = taskRates(base);
  const routedRates = taskRates(routed);
  return orderedKinds(kinds)
    .filter((kind) => kind !== UNTAGGED)
    .map((tag) => {
      const tasks = kinds.flatMap((kind, task) => (kind === tag ? [task] : []));
      const pick = (rates: readonly number[]) => tasks.map((task) => rates[task] as number);
      const differences = pick(routedRates).map((rate, i) => rate - (pick(baseRates)[i] as number));
      return { tag, tasks: tasks.length, base: mean(pick(baseRates)), routed: mean(pick(routedRates)), minusBase: interval(tag, differences) };
    });
}
