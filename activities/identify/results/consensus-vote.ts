import { type ConsensusLabel, type Label, LABELS } from '../../../contracts/artifacts/identification';
import { labelCode } from '../verdicts/label-codes';

/** In a split vote the label that claims least wins. The prompt asks for PRESENT in case of doubt, too. */
const PREFERENCE: readonly Label[] = ['PRESENT', 'NA', 'LACKING'];

/**
 * The vote of the labelling runs on one trajectory and capability: how many gave each label, the label that wins, and
 * the first run that gave it. Label and run are null when no run has a label. `codes` holds one code for each run.
 */
export function consensusVote(
  codes: readonly number[],
): Pick<ConsensusLabel, 'label' | 'votes'> & { run: number | null } {
  const votes = Object.fromEntries(
    LABELS.map((label) => [label, codes.filter((code) => code === labelCode(label)).length]),
  ) as ConsensusLabel['votes'];
  const most = Math.max(...Object.values(votes));
  if (most === 0) return { label: null, votes, run: null };
  const label = PREFERENCE.find((candidate) => votes[candidate] === most) as Label;
  return { label, votes, run: codes.indexOf(labelCode(label)) };
}
