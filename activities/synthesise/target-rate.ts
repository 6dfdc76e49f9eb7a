import type { ConsensusLabel } from '../../contracts/artifacts/identification';

/** How often the base model shows the capability in the target, according to the labels. */
export interface TargetRate {
  /** Number of episodes with a label for the capability. */
  labelled: number;
  /** Number of these that needed it. */
  needed: number;
  /** Number of these that show it. */
  shown: number;
  /** Number of successful episodes among those that show it, and among those that lack it. */
  successShown: number;
  successLacking: number;
}

/** Counts the labels of one capability. `success` says whether each trajectory succeeded. */
export function targetRate(labels: readonly ConsensusLabel[], success: ReadonlyMap<string, boolean>): TargetRate {
  const of = (wanted: ConsensusLabel['label']) => labels.filter(({ label }) => label === wanted);
  const succeeded = (some: readonly ConsensusLabel[]) =>
    some.filter(({ trajectoryId }) => success.get(trajectoryId) === true).length;
  const [shown, lacking, idle] = [of('PRESENT'), of('LACKING'), of('NA')];
  return {
    labelled: shown.length + lacking.length + idle.length,
    needed: shown.length + lacking.length,
    shown: shown.length,
    successShown: succeeded(shown),
    successLacking: succeeded(lacking),
  };
}

/** Fewest successes that show a capability, and their least share, before they speak against "it cannot be trained". */
const SHOWS_THAT_IT_CAN = { successes: 3, share: 0.1 };

/** What the labels say against the claim that the agent cannot learn the capability; empty if they say nothing. */
export function againstDecline({ needed, successShown }: TargetRate): string {
  const { successes, share } = SHOWS_THAT_IT_CAN;
  if (successShown < successes || successShown < share * needed) return '';
  return `Against this: ${successShown} of the ${needed} labelled episodes that call for it show it and succeed.`;
}

/** The rate in sentences; empty if no episode needs the capability. */
export function rateSentences({ labelled, needed, shown, successShown, successLacking }: TargetRate): string {
  if (needed === 0) return '';
  const percent = (part: number, whole: number) => `${Math.round((100 * part) / whole)} %`;
  const lacking = needed - shown;
  return [
    `Before training, the agent played ${labelled} episodes of the target that have a label. The capability was called ` +
      `for in ${needed} of them. The agent showed it in ${shown} of these ${needed} (${percent(shown, needed)}).`,
    shown > 0 ? `Of those that show it, ${percent(successShown, shown)} succeed.` : '',
    lacking > 0 ? `Of those that lack it, ${percent(successLacking, lacking)} succeed.` : '',
  ]
    .filter(Boolean)
    .join(' ');
}
