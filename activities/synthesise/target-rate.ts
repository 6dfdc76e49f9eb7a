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

/** The rate in sentences; empty if no episode needs the capability. */
export function rateSentences({ labelled, needed, shown, successShown, successLacking }: TargetRate): string {
  if (needed === 0) return '';
  const percent = (part: number, whole: number) => `${Math.round((100 * part) / whole)} %`;
  const lacking = needed - shown;
  return [
    `In the target, ${needed} of ${labelled} labelled episodes of the agent as it is called for the capability, and ` +
      `${shown} of these ${needed} show it (${percent(shown, needed)}).`,
    shown > 0 ? `Of those that show it, ${percent(successShown, shown)} succeed.` : '',
    lacking > 0 ? `Of those that lack it, ${percent(successLacking, lacking)} succeed.` : '',
  ]
    .filter(Boolean)
    .join(' ');
}
