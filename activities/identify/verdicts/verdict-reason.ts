import type { Contrast } from '../../../contracts/artifacts/identification';
import { pluralise } from '../../../contracts/pluralise';
import { percentText } from '../../../contracts/share-text';
import type { VerdictRule } from './verdict-rule';

/** One sentence for people: the verdict and the numbers behind it. */
export function verdictReason(contrast: Contrast, rule: VerdictRule): string {
  const { verdict, errorRateFailure, errorRateSuccess, coverage, moreFailures, missed, partial } = contrast;
  if (partial.hardlyShown !== null) {
    const { calledFor, exceptions } = partial.hardlyShown;
    const butFor = exceptions === 0 ? '' : `but for ${exceptions}, `;
    return (
      `Not trainable: ${calledFor} episodes call for it, and ${butFor}all lack it and fail. Training has no success to ` +
      'learn from. Perhaps no tool gives what it needs.'
    );
  }
  if (missed.includes('effect')) return `Rejected: it goes along with ${partial.goesWith}. ${ownEffect(contrast)}`;
  if (missed.includes('separation')) {
    const more =
      partial.moreEpisodes === null
        ? ''
        : ` About ${pluralise(partial.moreEpisodes, 'more episode')} would separate the two.`;
    return `Not enough data: the episodes cannot tell its effect from that of ${partial.goesWith}.${more}`;
  }
  if (errorRateFailure === null && errorRateSuccess === null) return `${head(contrast)}: no episode called for it.`;
  if (verdict === 'kept') {
    return (
      `Kept: where it is called for, failures lack it ${percent(errorRateFailure)}, successes ` +
      `${percent(errorRateSuccess)}, and ${percent(coverage)} of all failures lack it${passed(contrast, rule)}. ` +
      (missed.length === 0
        ? ''
        : 'The contrast alone cannot tell, but its lacks fail more often than the rest explains. ') +
      ownEffect(contrast)
    ).trimEnd();
  }
  const sentence = `${head(contrast)}: ${shortcomings(contrast, rule).join(' and ')}${passed(contrast, rule)}.`;
  if (verdict !== 'not-enough-data') return sentence;
  if (moreFailures !== null) return `${sentence} About ${moreFailures} more failed trajectories are needed to tell.`;
  return errorRateFailure === null || errorRateSuccess === null
    ? sentence
    : `${sentence} It lies so near the threshold that more data will hardly tell.`;
}

function ownEffect({ partial: { effect } }: Contrast): string {
  return effect === null
    ? ''
    : `With the other labels held, its lack adds ${points(effect.estimate)} points to the risk of failure ` +
        `(${range(effect, points)}).`;
}

const head = ({ verdict }: Contrast) => (verdict === 'rejected' ? 'Rejected' : 'Not enough data');

function shortcomings(
  contrast: Contrast,
  { minGap, minCoverage, familywiseError, quorum, runs }: VerdictRule,
): string[] {
  const { errorRateFailure, errorRateSuccess, gap, coverage, intervals, missed, adjustedPValue, verdict } = contrast;
  const clearly = verdict === 'rejected' ? 'below' : 'not clearly on either side of';
  const found: string[] = [];
  if (errorRateSuccess === null) found.push('no success called for it, so there is nothing to contrast with');
  else if (errorRateFailure === null) found.push('no failure called for it');
  else if (gap !== null && missed.includes('gap')) {
    found.push(
      `failures lack it ${percent(errorRateFailure)} and successes ${percent(errorRateSuccess)}: the gap of ` +
        `${points(gap)} points (${range(intervals.gap, points)}) is ${clearly} ${points(minGap)}`,
    );
  }
  if (missed.includes('coverage')) {
    found.push(
      `${percent(coverage)} of all failures lack it (${range(intervals.coverage, percent)}), which is ` +
        `${clearly} ${percent(minCoverage)}`,
    );
  }
  if (missed.includes('significance')) {
    found.push(
      `a gap of ${gap === null ? '–' : points(gap)} points could be chance among so many candidates (adjusted ` +
        `p ${adjustedPValue.toFixed(3)}, limit ${familywiseError})`,
    );
  }
  return found.length > 0 ? found : [`the runs disagree, and ${quorum} of ${runs} have to pass`];
}

function passed({ runs, runsPassed }: Contrast, { runs: planned }: VerdictRule): string {
  return planned === 1 ? '' : `; ${runsPassed} of ${runs.length} runs passed`;
}

function range(interval: { low: number; high: number } | null, format: (share: number) => string): string {
  return interval === null ? 'no interval' : `95 % interval ${format(interval.low)} to ${format(interval.high)}`;
}

function percent(share: number | null): string {
  return share === null ? 'never' : percentText(share);
}

function points(share: number): string {
  return (100 * share).toFixed(1);
}
