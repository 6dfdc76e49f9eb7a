import type { Contrast, RunContrast } from '../../contracts/artifacts/identification';
import { fleissKappa } from './statistics/agreement';
import { failuresNeeded } from './statistics/failures-needed';
import { gapPValue } from './statistics/gap-test';
import { differenceInterval, shareInterval } from '../statistics/intervals';
import { LABEL_CODES, taskSums, type Outcomes, type RunLabels, type TaskSums } from './statistics/label-table';
import { clusteredShare, runRates } from './statistics/rates';
import { judge, passes, type Rule, type RunEvidence } from './statistics/verdict';
import { verdictReason } from './verdict-reason';

/** A candidate with its labels in every run that was made for it. */
export interface LabelledCandidate {
  id: string;
  labels: RunLabels;
}

/**
 * Candidates whose verdict the runs still to come can change; those need labels in the next run. Empty when all runs
 * are made.
 */
export function undecided(candidates: readonly LabelledCandidate[], outcomes: Outcomes, rule: Rule): string[] {
  const verdicts = judge(
    candidates.map(({ labels }) => evidence(taskSums(outcomes, labels))),
    rule,
  );
  return candidates.filter((_, i) => verdicts[i]?.kind === null).map(({ id }) => id);
}

/** Rates, intervals, agreement and verdict of each candidate; the status against earlier runs is left open. */
export function contrastCandidates(
  candidates: readonly LabelledCandidate[],
  outcomes: Outcomes,
  rule: Rule,
): Contrast[] {
  const sums = candidates.map(({ labels }) => taskSums(outcomes, labels));
  const verdicts = judge(
    sums.map((own) => evidence(own)),
    rule,
  );
  return candidates.map(({ id, labels }, i): Contrast => {
    const own = sums[i] as TaskSums;
    const { kind, runsPassed, missed, adjustedPValue } = verdicts[i] as (typeof verdicts)[number];
    // A verdict that is open here was cut short by its caller, who knows why; without more labels there is not enough
    // data.
    const verdict = kind ?? 'not-enough-data';
    const failed = clusteredShare(own, 'errorRateFailure');
    const succeeded = clusteredShare(own, 'errorRateSuccess');
    const intervals = {
      errorRateSuccess: shareInterval(succeeded),
      errorRateFailure: shareInterval(failed),
      gap: differenceInterval(failed, succeeded),
      coverage: shareInterval(clusteredShare(own, 'coverage')),
    };
    const runs = labels.map((codes, run) => runContrast(own, run, codes, outcomes, rule));
    const failures = own.failures.reduce((a, b) => a + b, 0);
    const moreFailures =
      verdict === 'not-enough-data'
        ? failuresNeeded(
            {
              gap: intervals.gap,
              coverage: intervals.coverage,
              missed,
              adjustedPValue,
              candidates: candidates.length,
              failures,
            },
            rule,
          )
        : null;
    const contrast: Contrast = {
      capabilityId: id,
      errorRateSuccess: succeeded.estimate,
      errorRateFailure: failed.estimate,
      gap: intervals.gap?.estimate ?? null,
      coverage: intervals.coverage?.estimate ?? 0,
      standardDeviation: {
        errorRateSuccess: standardDeviation(runs.map((run) => run.errorRateSuccess)),
        errorRateFailure: standardDeviation(runs.map((run) => run.errorRateFailure)),
        gap: standardDeviation(runs.map((run) => run.gap)),
        coverage: standardDeviation(runs.map((run) => run.coverage)),
      },
      intervals,
      runs,
      runsPassed,
      adjustedPValue,
      agreement: fleissKappa(labels),
      verdict,
      missed,
      moreFailures,
      kept: verdict === 'kept',
      reason: '',
      status: null,
    };
    return { ...contrast, reason: verdictReason(contrast, rule) };
  });
}

/** Ids of the kept capabilities, largest gap times coverage first; ties by id. */
export function rankKept(contrasts: readonly Contrast[]): string[] {
  return rankByWeight(contrasts.filter((c) => c.kept));
}

/** Ids by gap times coverage, largest first; ties by id. */
export function rankByWeight(contrasts: readonly Contrast[]): string[] {
  const weight = (c: Contrast) => (c.gap ?? 0) * c.coverage;
  return [...contrasts]
    .sort((a, b) => weight(b) - weight(a) || (a.capabilityId < b.capabilityId ? -1 : 1))
    .map((c) => c.capabilityId);
}

/** What each run says, as the verdict needs it. */
export function evidence(sums: TaskSums): RunEvidence[] {
  return Array.from({ length: sums.runs }, (_, run) => {
    const share = (name: Parameters<typeof clusteredShare>[1]) => clusteredShare(sums, name, run, run + 1);
    const gap = differenceInterval(share('errorRateFailure'), share('errorRateSuccess'));
    const coverage = shareInterval(share('coverage'));
    return {
      gap: gap?.estimate ?? null,
      coverage: coverage?.estimate ?? 0,
      gapHigh: gap?.high ?? null,
      coverageHigh: coverage?.high ?? null,
      pValue: gapPValue(sums, run),
    };
  });
}

function runContrast(sums: TaskSums, run: number, codes: Uint8Array, { success }: Outcomes, rule: Rule): RunContrast {
  const rates = runRates(sums, run);
  const total = (cells: Float64Array) =>
    cells.subarray(run * sums.tasks, (run + 1) * sums.tasks).reduce((a, b) => a + b, 0);
  const counts = {
    successLacking: total(sums.successLacking),
    successApplicable: total(sums.successApplicable),
    failureLacking: total(sums.failureLacking),
    failureApplicable: total(sums.failureApplicable),
    failures: success.reduce((n, s) => n + 1 - s, 0),
    unlabelled: codes.reduce((n, code) => n + (code === LABEL_CODES.none ? 1 : 0), 0),
  };
  return {
    run,
    ...rates,
    pValue: gapPValue(sums, run),
    passed: passes({ ...rates, gapHigh: null, coverageHigh: null, pValue: 1 }, rule),
    counts,
  };
}

/** Of the values that are there, with n - 1; null for fewer than two. */
function standardDeviation(values: readonly (number | null)[]): number | null {
  const there = values.filter((value) => value !== null);
  if (there.length < 2) return null;
  const mean = there.reduce((a, b) => a + b, 0) / there.length;
  return Math.sqrt(there.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (there.length - 1));
}
