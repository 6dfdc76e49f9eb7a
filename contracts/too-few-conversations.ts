import { pluralise } from './pluralise';

/** What is known of the outcomes of conversations. */
interface CountedConversations {
  successes: number;
  failures: number;
  /** Conversations that have no outcome. */
  withoutOutcome: number;
}

/** More than needed by the share so far, because shares vary. */
const SPARE = 1.2;

/**
 * A message if there are fewer successes or failures than can be contrasted, with the number that is missing and about
 * how many conversations have as many. Null if there are enough.
 * @param least fewest successes and fewest failures, `identify.minEachOutcome`.
 */
export function tooFewConversations(
  { successes, failures, withoutOutcome }: CountedConversations,
  least: number,
): string | null {
  const rare = Math.min(successes, failures);
  if (rare >= least) return null;
  const judged = successes + failures;
  const found =
    `${pluralise(judged, 'conversation')} with an outcome: ${pluralise(successes, 'success', 'successes')}, ` +
    `${pluralise(failures, 'failure')}. Contrasting them needs at least ${least} of each`;
  const rest =
    withoutOutcome > 0
      ? ` ${pluralise(withoutOutcome, 'further conversation has', 'further conversations have')} no outcome: give ` +
        'theirs to `whet ingest` first.'
      : '';
  const lacking = [
    ...(successes < least ? [pluralise(least - successes, 'success', 'successes')] : []),
    ...(failures < least ? [pluralise(least - failures, 'failure')] : []),
  ].join(' and ');
  const what = successes < failures ? 'successes' : 'failures';
  const more =
    judged === 0
      ? 'The conversations of this agent have no outcomes.'
      : rare === 0
        ? `There are no ${what} at all: say what passes with --pass, or give --outcomes.`
        : `By the share so far, that takes about ${Math.ceil(((least - rare) / (rare / judged)) * SPARE)} more ` +
          'conversations.';
  return `${found}: ${lacking} more. ${more}${rest}`;
}
