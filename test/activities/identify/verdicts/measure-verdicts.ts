import { randomSource } from '../../../../activities/statistics/random';
import { runFigures } from '../../../../activities/identify/verdicts/contrast-candidates';
import { differenceInterval, shareInterval } from '../../../../activities/statistics/intervals';
import { taskSums } from '../../../../activities/identify/verdicts/task-sums';
import { clusteredShare } from '../../../../activities/identify/verdicts/rates';
import {
  judgeCandidates,
  passesThresholds,
  type CapabilityVerdict,
} from '../../../../activities/identify/verdicts/capability-verdict';
import type { Interval } from '../../../../contracts/artifacts/evaluation';
import type { Contrast } from '../../../../contracts/artifacts/identification';
import { drawLabels, type TrueRates, type Design } from './draw-labels';
import type { VerdictRule } from '../../../../activities/identify/verdicts/verdict-rule';

/** Quantities with an interval. */
export const QUANTITIES = ['errorRateFailure', 'errorRateSuccess', 'gap', 'coverage'] as const;
type Quantity = (typeof QUANTITIES)[number];

/** Counts over the repetitions of one setting. */
export interface SettingResult {
  truth: TrueRates;
  repetitions: number;
  /** Number of intervals that contain the truth, and number of intervals. */
  covered: Record<Quantity, number>;
  made: Record<Quantity, number>;
  verdicts: Record<Contrast['verdict'], number>;
  /** How often the published rule alone would keep it: a quorum of runs whose estimates pass. */
  keptByEstimates: number;
  /** Labelling runs that were made before the verdict was final. */
  runsMade: number;
}

export interface MeasureOptions {
  design: Design;
  rule: VerdictRule;
  /** Candidates that share the familywise error. */
  candidates: number;
  repetitions: number;
  seed: number;
}

/** Draws one setting repeatedly, and counts how often its intervals and verdicts are right. */
export function measureSetting(truth: TrueRates, options: MeasureOptions): SettingResult {
  const { design, rule, candidates, repetitions, seed } = options;
  const random = randomSource(seed);
  const zero = () => ({ errorRateFailure: 0, errorRateSuccess: 0, gap: 0, coverage: 0 });
  const result: SettingResult = {
    truth,
    repetitions,
    covered: zero(),
    made: zero(),
    verdicts: { kept: 0, rejected: 0, 'not-enough-data': 0, 'not-trainable': 0 },
    keptByEstimates: 0,
    runsMade: 0,
  };
  const gap = truth.errorRateFailure - truth.errorRateSuccess;
  const truths: Record<Quantity, number> = { ...truth, gap };
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const { outcomes, labels } = drawLabels(truth, design, random);
    const sums = taskSums(outcomes, labels);
    const failed = clusteredShare(sums, 'errorRateFailure');
    const succeeded = clusteredShare(sums, 'errorRateSuccess');
    const intervals: Record<Quantity, Interval | null> = {
      errorRateFailure: shareInterval(failed),
      errorRateSuccess: shareInterval(succeeded),
      gap: differenceInterval(failed, succeeded),
      coverage: shareInterval(clusteredShare(sums, 'coverage')),
    };
    for (const name of QUANTITIES) {
      const interval = intervals[name];
      if (interval === null) continue;
      result.made[name]++;
      if (holds(interval, truths[name])) result.covered[name]++;
    }
    const runs = runFigures(sums);
    // Judged alone, with its share of the familywise error (Bonferroni's correction over the candidates).
    const own = { ...rule, familywiseError: rule.familywiseError / candidates };
    let made = 0;
    let verdict: CapabilityVerdict | undefined;
    do {
      made++;
      [verdict] = judgeCandidates([runs.slice(0, made)], own);
    } while (verdict?.kind === null && made < rule.runs);
    result.verdicts[verdict?.kind ?? 'not-enough-data']++;
    result.runsMade += made;
    if (runs.filter((run) => passesThresholds(run, rule)).length >= rule.quorum) result.keptByEstimates++;
  }
  return result;
}

const holds = ({ low, high }: { low: number; high: number }, truth: number): boolean =>
  low <= truth + 1e-12 && truth <= high + 1e-12;

/** Whether a capability with these true rates ought to be kept. */
export function oughtToBeKept(
  { errorRateFailure, errorRateSuccess, coverage }: TrueRates,
  { minGap, minCoverage }: VerdictRule,
): boolean {
  return errorRateFailure - errorRateSuccess >= minGap - 1e-9 && coverage >= minCoverage - 1e-9;
}
