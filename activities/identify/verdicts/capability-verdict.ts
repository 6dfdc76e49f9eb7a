import { type Contrast, VERDICT_CRITERIA } from '../../../contracts/artifacts/identification';
import { bonferroni, mergeRunPValues } from './merge-p-values';
import type { VerdictRule } from './verdict-rule';

/** The figures of one capability in one labelling run. */
export interface RunFigures {
  gap: number | null;
  coverage: number;
  /** Upper ends of the 95 % intervals of this run; null without an estimate. */
  gapHigh: number | null;
  coverageHigh: number | null;
  /** One-sided p-value of "no gap". */
  pValue: number;
}

type VerdictKind = Contrast['verdict'];

/** A criterion that a capability can miss: the gap, the coverage, or the significance of the gap. */
export type Criterion = Contrast['missed'][number];

/** The verdict on one capability after the runs so far. */
export interface CapabilityVerdict {
  /** Null while later runs can change it. */
  kind: VerdictKind | null;
  /** Number of runs that pass both thresholds. */
  runsPassed: number;
  /**
   * Missed criteria. For a rejected capability these are the criteria that the intervals rule out, otherwise those that
   * the estimates miss.
   */
  missed: Criterion[];
  /** Merged over runs and adjusted over candidates (Rüger, Bonferroni); an upper bound if some runs were not made. */
  adjustedPValue: number;
}

/**
 * Tolerance for rounding: a figure that equals its threshold reaches it, even if the last bit of the difference says
 * otherwise.
 */
const ROUNDING = 1e-12;

type Thresholds = Pick<VerdictRule, 'minGap' | 'minCoverage'>;

/** Criteria that the estimates of a run miss: a figure does not reach its threshold. */
function thresholdsMissed({ gap, coverage }: Pick<RunFigures, 'gap' | 'coverage'>, rule: Thresholds): Criterion[] {
  const missed: Criterion[] = [];
  if (gap === null || gap < rule.minGap - ROUNDING) missed.push('gap');
  if (coverage < rule.minCoverage - ROUNDING) missed.push('coverage');
  return missed;
}

/** Whether a run passes: its gap and its coverage both reach their thresholds. */
export const passesThresholds = (run: Pick<RunFigures, 'gap' | 'coverage'>, rule: Thresholds): boolean =>
  thresholdsMissed(run, rule).length === 0;

/** Criteria that a run rules out: the whole 95 % interval of the figure is below its threshold. */
function criteriaRuledOut({ gapHigh, coverageHigh }: RunFigures, { minGap, minCoverage }: Thresholds): Criterion[] {
  const ruledOut: Criterion[] = [];
  if (gapHigh !== null && gapHigh < minGap) ruledOut.push('gap');
  if (coverageHigh !== null && coverageHigh < minCoverage) ruledOut.push('coverage');
  return ruledOut;
}

/**
 * Verdicts on all candidates of one identification. The p-value of each candidate is adjusted for their number.
 *
 * - kept: at least a quorum of runs pass both thresholds, and the gap is significant for so many candidates;
 * - rejected: so many runs rule out a threshold that fewer than a quorum are left;
 * - not enough data: neither. The estimates may miss a threshold, but by less than their uncertainty.
 *
 * A verdict is final as soon as no outcome of the remaining runs could change it. Its candidate then needs no more
 * labels.
 */
export function judgeCandidates(
  candidates: readonly (readonly RunFigures[])[],
  rule: VerdictRule,
): CapabilityVerdict[] {
  return candidates.map((runsMade) => judgeCandidate(runsMade, candidates.length, rule));
}

function judgeCandidate(runsMade: readonly RunFigures[], candidates: number, rule: VerdictRule): CapabilityVerdict {
  const { runs, quorum, familywiseError } = rule;
  const runsLeft = runs - runsMade.length;
  const runsPassed = runsMade.filter((run) => passesThresholds(run, rule)).length;
  const rulingOut = runsMade.filter((run) => criteriaRuledOut(run, rule).length > 0);
  // If this many runs rule it out, the remaining ones cannot be a quorum.
  const enoughToReject = runs - quorum + 1;
  const merged = mergeRunPValues(
    runsMade.map(({ pValue }) => pValue),
    runs,
    quorum,
  );
  const lowestPossibleP = bonferroni(merged.low, candidates);
  const highestPossibleP = bonferroni(merged.high, candidates);
  const verdict = (kind: VerdictKind | null, missed: Criterion[]): CapabilityVerdict => ({
    kind,
    runsPassed,
    missed,
    adjustedPValue: highestPossibleP,
  });

  if (runsPassed >= quorum && highestPossibleP <= familywiseError) return verdict('kept', []);
  if (rulingOut.length >= enoughToReject)
    return verdict('rejected', inOrder(rulingOut.flatMap((run) => criteriaRuledOut(run, rule))));
  const mayBeKept = runsPassed + runsLeft >= quorum && lowestPossibleP <= familywiseError;
  const mayBeRejected = rulingOut.length + runsLeft >= enoughToReject;
  const isOpen = runsLeft > 0 && (mayBeKept || mayBeRejected);
  // If a quorum passes, only the significance is missed.
  const missed: Criterion[] =
    runsPassed >= quorum ? ['significance'] : inOrder(runsMade.flatMap((run) => thresholdsMissed(run, rule)));
  return verdict(isOpen ? null : 'not-enough-data', missed);
}

/** Each of the criteria once, in the order of `VERDICT_CRITERIA`. */
const inOrder = (criteria: readonly Criterion[]): Criterion[] =>
  VERDICT_CRITERIA.filter((criterion) => criteria.includes(criterion));
