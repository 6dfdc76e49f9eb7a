import type { Contrast } from '../../../contracts/artifacts/identification';
import { pluralise } from '../../../contracts/pluralise';
import { percentText } from '../../../contracts/share-text';
import type { VerdictRule } from './verdict-rule';

/** One sentence for people: the verdict and the numbers behind it. */
export function verdictReason(contrast: Contrast, rule: VerdictRule): string {
  const { verdict, missed, partial } = contrast;
  if (verdict === 'not-trainable') return notTrainable(partial);
  if (partial.decidesNothing) {
    const { tool, tasks } = partial.decidesNothing;
    return (
      "Rejected: it does not decide in the target. The agent's environment accepts its own solutions of all " +
      `${tasks} tried tasks that the agent failed, without ${tool} as well.`
    );
  }
  const { experiment } = partial;
  if (experiment !== undefined && experiment.finding !== 'undecided') {
    if (verdict === 'kept') return `Kept: decided by an experiment. ${experimentInWords(partial)}`;
    if (missed.includes('effect')) return `Rejected: decided by an experiment. ${experimentInWords(partial)}`;
  }
  const undecided = experiment === undefined ? '' : 'An experiment does not decide it. ';
  return `${byLabels(contrast, rule)} ${undecided}${experimentInWords(partial)}`.trimEnd();
}

/** The verdict that follows from the labels. */
function byLabels(contrast: Contrast, rule: VerdictRule): string {
  const { verdict, errorRateFailure, errorRateSuccess, coverage, moreFailures, missed, partial } = contrast;
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
      `${ownEffect(contrast)}${refutedClaim(partial)}`
    ).trimEnd();
  }
  const sentence = `${head(contrast)}: ${shortcomings(contrast, rule).join(' and ')}${passed(contrast, rule)}.`;
  if (verdict !== 'not-enough-data') return sentence;
  if (moreFailures !== null) return `${sentence} About ${moreFailures} more failed trajectories are needed to tell.`;
  return errorRateFailure === null || errorRateSuccess === null
    ? sentence
    : `${sentence} It lies so near the threshold that more data will hardly tell.`;
}

/** What an experiment found, or why there was none. Empty if the labels leave nothing open. */
function experimentInWords({ experiment, noExperiment }: Contrast['partial']): string {
  if (noExperiment !== undefined) return `No experiment: ${noExperiment}.`;
  if (experiment === undefined) return '';
  const { step, tools, held, pairs, passedWith, passedWithout } = experiment;
  const tool = tools.join(', ');
  const both = held.length === 0 ? '' : `, beside ${held.join(', ')} on both sides`;
  const passed = (count: number) => `${count} of ${pairs}`;
  const counts =
    step === 'forced'
      ? `With ${tool} put in where the solution calls it${both}, ${passed(passedWith)} rollouts succeed, and ` +
        `${passed(passedWithout)} without.`
      : `${passed(passedWith)} rollouts succeed, and ${passed(passedWithout)} if the calls of ${tool} are not carried ` +
        `out${both}.`;
  return counts;
}

function notTrainable({ hardlyShown, missingValue, claim }: Contrast['partial']): string {
  const { calledFor, exceptions } = hardlyShown ?? { calledFor: 0, exceptions: 0 };
  const butFor = exceptions === 0 ? '' : `but for ${exceptions}, `;
  const never =
    calledFor === 0
      ? ''
      : ` ${calledFor} episodes call for it, and ${butFor}all lack it and fail. Training has no success to learn from.`;
  if (missingValue === undefined && claim === undefined)
    return `Not trainable:${never} Perhaps no tool gives what it needs.`;
  return `Not trainable:${never}${missingInWords(missingValue)}${claimInWords(claim)}`;
}

function missingInWords(missing: Contrast['partial']['missingValue']): string {
  if (missing === undefined) return '';
  const { argument, episodes, succeeded, solutions } = missing;
  return (
    ` In ${pluralise(episodes, 'episode')} the agent gives ${argument} a value that no message before it contains, and ` +
    `${succeeded === 0 ? 'none' : succeeded} of these ${succeeded === 1 ? 'succeeds' : 'succeed'}. ` +
    (solutions === null
      ? 'Perhaps no tool returns the value.'
      : `No tool seems to return the value: in ${pluralise(solutions, 'solution')} of the agent's environment, no message ` +
        'contains it either.')
  );
}

function claimInWords(claim: Contrast['partial']['claim']): string {
  if (claim === undefined) return '';
  const { reason, shown, calledFor } = claim;
  return ` The analyst says: ${reason.replace(/\.?$/, '.')} ${shown} of ${pluralise(calledFor, 'episode')} that call for it show it and succeed.`;
}

const refutedClaim = ({ claim }: Contrast['partial']): string =>
  claim === undefined
    ? ''
    : ` The analyst says that it cannot be trained, but ${claim.shown} of ${pluralise(claim.calledFor, 'episode')} ` +
      'that call for it show it and succeed.';

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
