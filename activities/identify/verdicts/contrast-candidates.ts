import type { Contrast, RunContrast } from '../../../contracts/artifacts/identification';
import { differenceInterval, shareInterval } from '../../statistics/intervals';
import { sampleDeviation } from '../../statistics/mean';
import { judgeEffects, type JudgedEffect } from '../causes/judge-effects';
import { type CapabilityVerdict, judgeCandidates, passesThresholds, type RunFigures } from './capability-verdict';
import { consensusCodes } from './consensus-vote';
import { failuresNeeded } from './failures-needed';
import { fleissKappa } from './fleiss-kappa';
import { gapPValue } from './gap-p-value';
import { LABEL_CODES, type RunLabels } from './label-codes';
import { clusteredShare, runRates } from './rates';
import { runTotals, taskSums, type TrajectoryOutcomes, type TaskSums } from './task-sums';
import { verdictReason } from './verdict-reason';
import type { VerdictRule } from './verdict-rule';

/** A candidate with its labels from each of its labelling runs. */
export interface LabelledCandidate {
  id: string;
  labels: RunLabels;
}

/**
 * Ids of the candidates whose verdict later runs can change. They need labels in the next run. Empty if all runs are
 * made.
 */
export function undecidedCandidates(
  candidates: readonly LabelledCandidate[],
  outcomes: TrajectoryOutcomes,
  rule: VerdictRule,
): string[] {
  const verdicts = judgeCandidates(
    candidates.map(({ labels }) => runFigures(taskSums(outcomes, labels))),
    rule,
  );
  return candidates.filter((_, i) => verdicts[i]?.kind === null).map(({ id }) => id);
}

/**
 * The contrast of each candidate: rates, intervals, agreement, effect beside the other candidates, and verdict. The
 * status relative to earlier runs of the agent is left null.
 */
export function contrastCandidates(
  candidates: readonly LabelledCandidate[],
  outcomes: TrajectoryOutcomes,
  rule: VerdictRule,
): Contrast[] {
  const sums = candidates.map(({ labels }) => taskSums(outcomes, labels));
  const verdicts = judgeCandidates(
    sums.map((own) => runFigures(own)),
    rule,
  );
  const alone = candidates.map((candidate, i) => contrastAlone(candidate, sums[i]!, verdicts[i]!, rule));
  const effects = judgeEffects(
    candidates.map(({ labels }) => consensusCodes(labels)),
    outcomes,
    alone.map(({ verdict, missed, runsPassed, gap, coverage }) => ({
      kept: verdict === 'kept',
      passed: runsPassed >= rule.quorum,
      hasNoGap: verdict === 'rejected' && missed.includes('gap'),
      weight: (gap ?? 0) * coverage,
    })),
    rule,
  );
  return alone.map((contrast, i): Contrast => {
    const judged = effects[i]!;
    const { verdict, missed } = finalVerdict(contrast, judged);
    const failures = sums[i]!.failures.reduce((a, b) => a + b, 0);
    const moreFailures =
      verdict !== 'not-enough-data' || missed.includes('separation')
        ? null
        : failuresNeeded(
            {
              ...contrast.intervals,
              missed,
              adjustedPValue: contrast.adjustedPValue,
              candidates: alone.length,
              failures,
            },
            rule,
          );
    const { effect, adjustedPValue, goesWith, moreEpisodes, hardlyShown } = judged;
    const own: Contrast = {
      ...contrast,
      partial: {
        effect,
        adjustedPValue,
        goesWith: goesWith === null ? null : candidates[goesWith]!.id,
        moreEpisodes,
        hardlyShown,
      },
      verdict,
      missed,
      moreFailures,
      kept: verdict === 'kept',
      reason: '',
      status: null,
    };
    return { ...own, reason: verdictReason(own, rule) };
  });
}

/** What a candidate's own labels say. */
type OwnContrast = Omit<Contrast, 'partial' | 'moreFailures' | 'kept' | 'reason' | 'status'>;

function contrastAlone(
  { id, labels }: LabelledCandidate,
  own: TaskSums,
  { kind, runsPassed, missed, adjustedPValue }: CapabilityVerdict,
  rule: VerdictRule,
): OwnContrast {
  const failed = clusteredShare(own, 'errorRateFailure');
  const succeeded = clusteredShare(own, 'errorRateSuccess');
  const intervals = {
    errorRateSuccess: shareInterval(succeeded),
    errorRateFailure: shareInterval(failed),
    gap: differenceInterval(failed, succeeded),
    coverage: shareInterval(clusteredShare(own, 'coverage')),
  };
  const runs = labels.map((codes, run): RunContrast => {
    const rates = runRates(own, run);
    const unlabelled = codes.reduce((n, code) => n + (code === LABEL_CODES.none ? 1 : 0), 0);
    return {
      run,
      ...rates,
      pValue: gapPValue(own, run),
      passed: passesThresholds(rates, rule),
      counts: { ...runTotals(own, run), unlabelled },
    };
  });
  // Over the runs that have the figure; null if fewer than two have it.
  const deviation = (figure: (run: RunContrast) => number | null) =>
    sampleDeviation(runs.map(figure).filter((value) => value !== null));
  return {
    capabilityId: id,
    errorRateSuccess: succeeded.estimate,
    errorRateFailure: failed.estimate,
    gap: intervals.gap?.estimate ?? null,
    coverage: intervals.coverage?.estimate ?? 0,
    standardDeviation: {
      errorRateSuccess: deviation(({ errorRateSuccess }) => errorRateSuccess),
      errorRateFailure: deviation(({ errorRateFailure }) => errorRateFailure),
      gap: deviation((run) => run.gap),
      coverage: deviation((run) => run.coverage),
    },
    intervals,
    runs,
    runsPassed,
    adjustedPValue,
    agreement: fleissKappa(labels),
    // If the caller made fewer runs than planned, an open verdict means that there is not enough data.
    verdict: kind ?? 'not-enough-data',
    missed,
  };
}

/** The verdict on a candidate, from its own contrast and from its effect beside the others. */
function finalVerdict(
  { verdict, missed }: OwnContrast,
  { verdict: effectVerdict }: JudgedEffect,
): Pick<Contrast, 'verdict' | 'missed'> {
  switch (effectVerdict) {
    case 'as-contrasted':
      return { verdict, missed };
    case 'decisive':
      return { verdict: 'kept', missed };
    case 'companion':
      return { verdict: 'rejected', missed: ['effect'] };
    case 'inseparable':
      return { verdict: 'not-enough-data', missed: ['separation'] };
    case 'hardly-shown':
      return { verdict: 'not-trainable', missed: [] };
  }
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

/** The figures of each labelling run that determine the verdict. */
export function runFigures(sums: TaskSums): RunFigures[] {
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
