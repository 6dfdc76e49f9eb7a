import type { Arm, Evaluation, Incumbent, Interval, RoutingRecord } from '../../contracts/artifacts/evaluation';
import type { EvaluationPlan, Judging } from '../../contracts/artifacts/evaluation-plan';
import type { RouterChoice } from '../../contracts/artifacts/router-choice';
import type { FailedByCause } from '../../contracts/failed-episodes';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { CompareInput } from '../../contracts/messages/evaluate-stage';
import { NONE_LABEL } from '../../contracts/names';
import {
  bootstrapMean,
  bootstrapMeans,
  type BootstrapOptions,
  bootstrapRatio,
  type Column,
} from '../statistics/bootstrap';
import { mean } from '../statistics/mean';
import { evaluationCaveats } from './caveats';
import { oracleRates } from './oracle';
import { type ArmTable, armTable, type OutcomeTable, playedOf, taskRates, UnpairedError } from './outcome-table';
import { regressionAgainstBase } from './regression';
import { sureLoss } from './sure-loss';
import { expectedChoices, orderedKinds, routerQuality, taskKinds, UNTAGGED } from './router-quality';

/** Inputs of the figures other than the outcomes. */
export interface EvaluateOptions
  extends
    Pick<CompareInput, 'capabilities' | 'adapters' | 'mixedFailure' | 'incumbentFailure'>,
    Pick<AgentSpec['evaluation'], 'bootstrapSamples' | 'confidence'> {
  routing: readonly RoutingRecord[];
  /** How the router was chosen. */
  routerChoice: RouterChoice;
  /**
   * Whether the environment's ground truth may be read: only if deficits were planted, and only for figures that decide
   * nothing.
   */
  readsTags: boolean;
  /** k of pass^k: at most the trials of the table count. */
  allOf: number;
  /** The same seed and table give exactly the same figures. */
  seed: number;
  /** The rival of the run, and how strictly the gate judges. */
  plan: EvaluationPlan;
  judging: Judging;
  /** The failed episodes of each arm that has any, by its name. */
  failed?: ReadonlyMap<string, FailedByCause>;
  /** By task, whether an agent passes that does nothing. Absent: nothing is known of it. */
  nothing?: ReadonlyMap<number, boolean>;
  /** The active version, whose outcomes are the arm `incumbent`; absent if it is no arm. */
  incumbent?: { version: number; differing: number } | undefined;
}

/**
 * All figures of an evaluation from paired outcomes. The table needs the arms `base` and `routed`, one arm for each
 * adapter, and `mixed` and `incumbent` if these exist.
 * @throws UnpairedError if an arm is missing or there is no adapter.
 */
export function evaluateTable(table: OutcomeTable, options: EvaluateOptions): Evaluation {
  const bootstrap: BootstrapOptions = {
    samples: options.bootstrapSamples,
    confidence: options.confidence,
    seed: options.seed,
  };
  const base = armTable(table, 'base');
  const routed = armTable(table, 'routed');
  const single = options.adapters.map((adapter) => armTable(table, adapter.name));
  const mixed = table.arms.get('mixed');
  const groups = routedGroups(table, options.routing);
  const { attainable, ceiling } = oracleRates([base, ...single], groups);
  const baseRates = taskRates(base);
  const routedRates = taskRates(routed);

  const sources: ArmSource[] = [
    played('base', base),
    played('routed', routed),
    { name: 'oracle', kind: 'oracle', rates: attainable },
    ...single.map((arm) => played('adapter', arm)),
    ...(mixed ? [played('mixed', mixed)] : []),
    ...(options.incumbent ? [played('incumbent', armTable(table, 'incumbent'))] : []),
  ];
  const k = Math.min(options.allOf, table.trials);
  const arms = describeArms(sources, { baseRates, k, bootstrap, failed: options.failed });
  const arm = (kind: Arm['kind']) => arms.find((a) => a.kind === kind) as Arm;
  const adapters = arms.filter((a) => a.kind === 'adapter');
  const bestSingle = adapters.reduce<Arm | null>(
    (best, a) => (best === null || a.passRate.estimate > best.passRate.estimate ? a : best),
    null,
  );
  if (bestSingle === null) throw new UnpairedError('There is no adapter to compare: train at least one.');

  const rivals = [armTable(table, bestSingle.name), ...(mixed ? [mixed] : [])].map((rival) =>
    minus(routedRates, taskRates(rival)),
  );
  const [routedMinusBestSingle, routedMinusMixed] = bootstrapMeans(rivals, bootstrap) as [
    Interval,
    Interval | undefined,
  ];
  const kinds = options.readsTags ? taskKinds(table) : table.seeds.map(() => UNTAGGED);
  const expected = expectedChoices(table, kinds, options.adapters, bootstrap);
  const oracleCeiling = mean(ceiling);
  const doNothing = againstNothing(table.seeds, baseRates, options.nothing ?? new Map(), bootstrap);
  return {
    tasks: table.seeds.length,
    trials: table.trials,
    ...(k < table.trials && { allOf: k }),
    confidence: options.confidence,
    bootstrapSamples: options.bootstrapSamples,
    base: arm('base'),
    bestSingle,
    routed: arm('routed'),
    oracle: arm('oracle'),
    oracleCeiling,
    ...(mixed && { mixed: arm('mixed') }),
    adapters,
    routedMinusBase: arm('routed').minusBase,
    routedMinusBestSingle,
    ...(routedMinusMixed && { routedMinusMixed }),
    regression: regressionAgainstBase(base, routed, bootstrap),
    sureLoss: sureLoss(base, routed, groups),
    ...(options.incumbent && { incumbent: incumbentOf(table, arm('incumbent'), options.incumbent, bootstrap) }),
    ...(doNothing && { doNothing }),
    plan: options.plan,
    judged: gateIntervals(table, options.judging, bootstrap),
    byTag: compareByKind(kinds, baseRates, routedRates, bootstrap),
    router: {
      ...routerQuality(table, kinds, options.capabilities, options.routing, expected),
      choice: options.routerChoice,
    },
    caveats: evaluationCaveats(table, options, { oracleCeiling, doNothing }),
  };
}

/** Base against an agent that does nothing, on the tasks on which that one has a result. */
function againstNothing(
  seeds: readonly number[],
  baseRates: readonly number[],
  passed: ReadonlyMap<number, boolean>,
  bootstrap: BootstrapOptions,
): Evaluation['doNothing'] {
  const known = seeds.flatMap((seed, task) => {
    const pass = passed.get(seed);
    return pass === undefined ? [] : [{ nothing: Number(pass), base: baseRates[task]! }];
  });
  if (known.length === 0) return undefined;
  const nothing = known.map((task) => task.nothing);
  const base = known.map((task) => task.base);
  const [passRate, baseMinus] = bootstrapMeans([{ values: nothing, range: [0, 1] }, minus(base, nothing)], bootstrap);
  return { tasks: known.length, passRate: passRate!, baseMinus: baseMinus! };
}

/** The active version: the candidate's lead over it, and the candidate's loss among the tasks that it passes. */
function incumbentOf(
  table: OutcomeTable,
  arm: Arm,
  { version, differing }: NonNullable<EvaluateOptions['incumbent']>,
  bootstrap: BootstrapOptions,
): Incumbent {
  const [incumbent, routed] = [armTable(table, 'incumbent'), armTable(table, 'routed')];
  const [routedMinus] = bootstrapMeans([minus(taskRates(routed), taskRates(incumbent))], bootstrap);
  const regression = regressionAgainstBase(incumbent, routed, bootstrap);
  return { version, arm, routedMinus: routedMinus as Interval, differing, regression };
}

/**
 * The figures that must be proved for a promotion, with intervals at the confidence of this comparison. The other
 * figures use the same bootstrap draws, so the estimates are the same.
 */
function gateIntervals(table: OutcomeTable, judging: Judging, options: BootstrapOptions): Evaluation['judged'] {
  const bootstrap = { ...options, confidence: judging.confidence };
  const [base, routed] = [armTable(table, 'base'), armTable(table, 'routed')];
  const incumbent = table.arms.get('incumbent');
  const rivals = [base, ...(incumbent ? [incumbent] : [])];
  const [routedMinusBase, routedMinusIncumbent = null] = bootstrapMeans(
    rivals.map((rival) => minus(taskRates(routed), taskRates(rival))),
    bootstrap,
  ) as [Interval, Interval | undefined];
  const { tasks, loss } = regressionAgainstBase(incumbent ?? base, routed, bootstrap);
  return { ...judging, routedMinusBase, routedMinusIncumbent, loss: tasks === 0 ? null : loss };
}

/** The arm that the router gave each task to. It depends only on the opening. */
function routedGroups({ seeds }: OutcomeTable, routing: readonly RoutingRecord[]): string[] {
  const chosen = new Map(routing.map(({ seed, capabilityId }) => [seed, capabilityId]));
  return seeds.map((seed) => chosen.get(seed) ?? NONE_LABEL);
}

interface ArmSource {
  name: string;
  kind: Arm['kind'];
  /** Pass rate of each task. */
  rates: readonly number[];
  /** Of the trials with a result, by task. Absent for the oracle, which combines the passes of several arms. */
  passes?: number[][];
}

const played = (kind: Arm['kind'], arm: ArmTable): ArmSource => ({
  name: arm.name,
  kind,
  rates: taskRates(arm),
  passes: arm.passes.map(playedOf),
});

const minus = (a: readonly number[], b: readonly number[]): Column => ({
  values: a.map((rate, task) => rate - (b[task] as number)),
  range: [-1, 1],
});

function describeArms(
  sources: readonly ArmSource[],
  {
    baseRates,
    k,
    bootstrap,
    failed,
  }: { baseRates: readonly number[]; k: number; bootstrap: BootstrapOptions; failed: EvaluateOptions['failed'] },
): Arm[] {
  const columns = sources.flatMap(({ rates, passes }): Column[] => [
    { values: rates, range: [0, 1] },
    minus(rates, baseRates),
    { values: passes && hasTrials(passes, k) ? passes.map((trials) => passedAll(trials, k)) : rates, range: [0, 1] },
  ]);
  const intervals = bootstrapMeans(columns, bootstrap);
  return sources.map(({ name, kind, passes }, i) => {
    const all = passes && (hasTrials(passes, k) ? intervals[3 * i + 2] : passedAllWhereKnown(passes, k, bootstrap));
    return {
      name,
      kind,
      passRate: intervals[3 * i] as Interval,
      minusBase: kind === 'base' ? { estimate: 0, low: 0, high: 0 } : (intervals[3 * i + 1] as Interval),
      ...(all && { passedAll: all }),
      episodes: passes?.reduce((sum, trials) => sum + trials.length, 0) ?? 0,
      ...(failed?.has(name) && { failed: failed.get(name) }),
    };
  });
}

const hasTrials = (passes: readonly number[][], k: number): boolean => passes.every(({ length }) => length >= k);

/** pass^k of the tasks with k results or more; undefined if there are none. */
function passedAllWhereKnown(
  passes: readonly number[][],
  k: number,
  bootstrap: BootstrapOptions,
): Interval | undefined {
  const known = passes
    .filter(({ length }) => length >= k)
    .map((trials) => ({ value: passedAll(trials, k), weight: 1 }));
  return known.length === 0 ? undefined : bootstrapRatio(known, [0, 1], bootstrap);
}

function compareByKind(
  kinds: readonly string[],
  base: readonly number[],
  routed: readonly number[],
  bootstrap: BootstrapOptions,
): Evaluation['byTag'] {
  return orderedKinds(kinds)
    .filter((kind) => kind !== UNTAGGED)
    .map((tag) => {
      const pick = (rates: readonly number[]) => rates.filter((_, task) => kinds[task] === tag);
      const { values, range } = minus(pick(routed), pick(base));
      return {
        tag,
        tasks: values.length,
        base: mean(pick(base)),
        routed: mean(pick(routed)),
        minusBase: bootstrapMean(values, range, bootstrap),
      };
    });
}

/**
 * Chance that k trials of a task all pass, from n trials of which c passed: the share C(c, k) / C(n, k) of the choices
 * of k trials in which all passed. Unbiased for k up to n (pass^k of tau-bench, arXiv 2406.12045).
 * @throws RangeError when there are fewer than k trials.
 */
export function passedAll(trials: readonly number[], k: number): number {
  if (k > trials.length) throw new RangeError(`pass^${k} needs ${k} trials, not ${trials.length}.`);
  const passed = trials.reduce((sum, pass) => sum + pass, 0);
  let share = 1;
  for (let i = 0; i < k; i++) share *= Math.max(0, passed - i) / (trials.length - i);
  return share;
}
