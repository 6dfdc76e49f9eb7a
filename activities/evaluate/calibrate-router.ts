/**
 * What the gateway needs to read the router's probabilities: a temperature, so that a probability of 0.9 is right nine
 * times in ten, and a threshold below which a task is better left to base. Both are fitted on one half of the
 * evaluation's tasks and measured on the other half, so the figures never come from the tasks that were fitted on.
 */
import type { Evaluation, RoutingRecord } from '../../contracts/artifacts/evaluation';
import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type { CapabilityBrief } from '../../contracts/messages/run-context';
import { NONE_LABEL } from '../../contracts/names';
import { routerMenu } from '../../contracts/routing/router-prompt';
import { calibrated } from '../../contracts/routing/routing-decision';
import { mean } from '../statistics/mean';
import { armTable, type OutcomeTable, taskRates } from './outcome-table';

/** Fewest tasks in a half from which anything is fitted. */
const MIN_TASKS = 20;
/** Steps of the reliability diagram. */
const BINS = 10;
const CANDIDATE_THRESHOLDS = Array.from({ length: 20 }, (_, i) => i / 20);

type Calibration = NonNullable<Evaluation['router']['calibration']>;

/** A task with one right choice. */
interface Judged {
  probabilities: readonly number[];
  /** Index of the right choice in the menu. */
  right: number;
}

/** A task that the router sent to an adapter, with the pass rates of base and of that adapter. */
interface Choice {
  probabilities: readonly number[];
  base: number;
  chosen: number;
}

/** Fits and measures the calibration; undefined where too few tasks have a routing record and one right choice. */
export function calibrateRouter(
  table: OutcomeTable,
  kinds: readonly string[],
  capabilities: readonly CapabilityBrief[],
  adapters: readonly TrainedAdapter[],
  routing: readonly RoutingRecord[],
  expected: Evaluation['router']['expected'],
): Calibration | undefined {
  const menu = routerMenu(capabilities).map(({ capabilityId }) => capabilityId);
  const records = new Map(routing.map((record) => [record.seed, record]));
  const right = new Map(expected.map((e) => [e.tag, menu.indexOf(e.capabilityId)]));
  const base = taskRates(armTable(table, 'base'));
  const alone = new Map(adapters.map((adapter) => [adapter.capabilityId, taskRates(armTable(table, adapter.name))]));
  const judged: Judged[][] = [[], []];
  const choices: Choice[][] = [[], []];
  table.seeds.forEach((seed, task) => {
    const record = records.get(seed);
    if (record === undefined || record.probabilities.length !== menu.length) return;
    const half = task % 2;
    const { probabilities, capabilityId } = record;
    const target = right.get(kinds[task] as string);
    if (target !== undefined && target >= 0) judged[half]?.push({ probabilities, right: target });
    const own = base[task] as number;
    if (capabilityId !== NONE_LABEL)
      choices[half]?.push({ probabilities, base: own, chosen: alone.get(capabilityId)?.[task] ?? own });
  });
  const [fit, check] = judged as [Judged[], Judged[]];
  if (fit.length < MIN_TASKS || check.length < MIN_TASKS) return undefined;
  const temperature = fitTemperature(fit);
  const [chooseOn, checkOn] = choices as [Choice[], Choice[]];
  const threshold = fitThreshold(chooseOn, temperature);
  return {
    temperature,
    threshold,
    fittedOn: fit.length,
    measuredOn: check.length,
    errorBefore: calibrationError(reliability(check, 1)),
    errorAfter: calibrationError(reliability(check, temperature)),
    thresholdGain: checkOn.length === 0 ? 0 : mean(checkOn.map((choice) => gainOf(choice, temperature, threshold))),
    reliability: reliability(check, temperature),
  };
}

/**
 * Standard deviation of the prior of log temperature. Without a prior, a router that is right every time would get the
 * lowest temperature there is.
 */
const PRIOR_SPREAD = 0.5;

/** Temperature with the highest posterior of the right choices (golden-section search on its logarithm, 0.1 to 10). */
export function fitTemperature(tasks: readonly Judged[]): number {
  const surprise = ({ probabilities, right }: Judged, temperature: number) =>
    -Math.log(Math.max(1e-6, calibrated(probabilities, temperature)[right] as number));
  const loss = (logT: number) =>
    mean(tasks.map((task) => surprise(task, Math.exp(logT)))) + logT ** 2 / (2 * PRIOR_SPREAD ** 2 * tasks.length);
  const golden = (Math.sqrt(5) - 1) / 2;
  let [low, high] = [Math.log(0.1), Math.log(10)];
  for (let step = 0; step < 40; step++) {
    const [a, b] = [high - golden * (high - low), low + golden * (high - low)];
    if (loss(a) < loss(b)) high = b;
    else low = a;
  }
  return Number(Math.exp((low + high) / 2).toFixed(3));
}

/** Change of the pass rate of one task by abstaining below the threshold. */
const gainOf = ({ probabilities, base, chosen }: Choice, temperature: number, threshold: number): number =>
  Math.max(...calibrated(probabilities, temperature)) < threshold ? base - chosen : 0;

/**
 * The lowest threshold whose gain is within one standard error of the best gain. 0 (never abstain) unless the best gain
 * is larger than its standard error.
 */
export function fitThreshold(tasks: readonly Choice[], temperature: number): number {
  if (tasks.length < MIN_TASKS) return 0;
  const gains = CANDIDATE_THRESHOLDS.map((threshold) => {
    const values = tasks.map((task) => gainOf(task, temperature, threshold));
    const average = mean(values);
    return {
      threshold,
      average,
      error: Math.sqrt(mean(values.map((value) => (value - average) ** 2)) / values.length),
    };
  });
  const best = gains.reduce((a, b) => (b.average > a.average ? b : a));
  if (best.average <= best.error) return 0;
  return gains.find(({ average }) => average >= best.average - best.error)?.threshold ?? 0;
}

/**
 * Mean probability and share right of the tasks whose best option has a probability in each step. Empty steps are left
 * out.
 */
function reliability(tasks: readonly Judged[], temperature: number): Calibration['reliability'] {
  const rows = tasks.map(({ probabilities, right }) => {
    const scaled = calibrated(probabilities, temperature);
    const best = Math.max(...scaled);
    return { best, hit: scaled.indexOf(best) === right ? 1 : 0 };
  });
  return Array.from({ length: BINS }, (_, bin) => {
    const inside = rows.filter(({ best }) => Math.min(BINS - 1, Math.floor(best * BINS)) === bin);
    return {
      from: bin / BINS,
      to: (bin + 1) / BINS,
      tasks: inside.length,
      meanProbability: mean(inside.map(({ best }) => best)),
      right: mean(inside.map(({ hit }) => hit)),
    };
  }).filter(({ tasks: count }) => count > 0);
}

/** Expected calibration error: mean distance between probability and share right, weighted by tasks. */
function calibrationError(bins: Calibration['reliability']): number {
  const total = bins.reduce((sum, { tasks }) => sum + tasks, 0);
  return bins.reduce(
    (sum, { tasks, meanProbability, right }) => sum + (tasks / total) * Math.abs(meanProbability - right),
    0,
  );
}
