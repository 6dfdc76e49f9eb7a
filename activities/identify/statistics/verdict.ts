import { type Contrast, THRESHOLDS } from '../../../contracts/artifacts/identification';
import { adjustForCandidates, mergeRuns } from './p-values';

/** What a capability must reach. */
export interface Rule {
  /** Thresholds of the paper, section 2. */
  minGap: number;
  minCoverage: number;
  /** Independent labelling runs, and how many of them have to pass both thresholds. */
  runs: number;
  quorum: number;
  /** Highest chance that any capability without a gap is kept. */
  familywiseError: number;
}

/** What one run says about one capability. */
export interface RunEvidence {
  gap: number | null;
  coverage: number;
  /** Upper ends of the 95 % intervals of this run; null without an estimate. */
  gapHigh: number | null;
  coverageHigh: number | null;
  /** One-sided, of "no gap". */
  pValue: number;
}

export type VerdictKind = Contrast['verdict'];
export type Threshold = Contrast['missed'][number];

/** A verdict as far as the runs made allow one. */
export interface Verdict {
  /** Null while runs that are still to come can change it. */
  kind: VerdictKind | null;
  runsPassed: number;
  /** Thresholds that failed: clearly, in a rejection; on the estimates, where there is not enough data. */
  missed: Threshold[];
  /** Merged over runs and adjusted over candidates (Rüger, Bonferroni); an upper bound where runs were not made. */
  adjustedPValue: number;
}

/** Whether a run passes: gap and coverage both reach their thresholds. */
export const passes = (
  { gap, coverage }: RunEvidence,
  { minGap, minCoverage }: Pick<Rule, 'minGap' | 'minCoverage'>,
): boolean => gap !== null && reached(gap, minGap) && reached(coverage, minCoverage);

/** Thresholds that a run's intervals rule out. */
export function refuted(
  { gapHigh, coverageHigh }: RunEvidence,
  { minGap, minCoverage }: Pick<Rule, 'minGap' | 'minCoverage'>,
): Threshold[] {
  return [
    ...(gapHigh !== null && gapHigh < minGap ? (['gap'] as const) : []),
    ...(coverageHigh !== null && coverageHigh < minCoverage ? (['coverage'] as const) : []),
  ];
}

/**
 * Verdicts on all candidates of one identification, which are corrected for each other's number.
 *
 * - kept: at least a quorum of runs pass both thresholds, and the gap is larger than chance allows among so many
 *   candidates (Bonferroni);
 * - rejected: so many runs rule a threshold out (its 95 % interval lies below it) that no quorum is left;
 * - not enough data: neither. The estimates may miss a threshold, but not by more than their uncertainty.
 *
 * A verdict is final as soon as no outcome of the remaining runs could change it; its candidate needs no more labels
 * then.
 */
export function judge(candidates: readonly (readonly RunEvidence[])[], rule: Rule): Verdict[] {
  return candidates.map((made) => judgeOne(made, candidates.length, rule));
}

function judgeOne(made: readonly RunEvidence[], candidates: number, rule: Rule): Verdict {
  const { runs, quorum, familywiseError } = rule;
  const left = runs - made.length;
  const runsPassed = made.filter((run) => passes(run, rule)).length;
  const refutations = made.filter((run) => refuted(run, rule).length > 0);
  const tooMany = runs - quorum + 1;
  const merged = mergeRuns(
    made.map(({ pValue }) => pValue),
    runs,
    quorum,
  );
  const [lowestP, highestP] = [merged.low, merged.high].map((p) => adjustForCandidates(p, candidates)) as [
    number,
    number,
  ];
  const verdict = (kind: VerdictKind | null, missed: Threshold[]): Verdict => ({
    kind,
    runsPassed,
    missed,
    adjustedPValue: highestP,
  });

  if (runsPassed >= quorum && highestP <= familywiseError) return verdict('kept', []);
  if (refutations.length >= tooMany)
    return verdict('rejected', unique(refutations.flatMap((run) => refuted(run, rule))));
  const mayBeKept = runsPassed + left >= quorum && lowestP <= familywiseError;
  const mayBeRejected = refutations.length + left >= tooMany;
  return verdict(left > 0 && (mayBeKept || mayBeRejected) ? null : 'not-enough-data', missedBy(made, runsPassed, rule));
}

function missedBy(made: readonly RunEvidence[], runsPassed: number, rule: Rule): Threshold[] {
  if (runsPassed >= rule.quorum) return ['significance'];
  const failing = made.filter((run) => !passes(run, rule));
  return unique(
    failing.flatMap(({ gap, coverage }): Threshold[] => [
      ...(gap === null || !reached(gap, rule.minGap) ? (['gap'] as const) : []),
      ...(reached(coverage, rule.minCoverage) ? [] : (['coverage'] as const)),
    ]),
  );
}

/** A threshold that is met exactly is met, whatever the last bit of the difference says. */
const reached = (value: number, threshold: number) => value >= threshold - 1e-12;

const unique = (items: readonly Threshold[]): Threshold[] =>
  THRESHOLDS.filter((threshold) => items.includes(threshold));
