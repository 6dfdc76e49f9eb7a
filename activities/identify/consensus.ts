import { type ConsensusLabel, type Label, LABELS } from '../../contracts/artifacts/identification';
import { labelCode } from './statistics/label-table';

/** In a split vote the label that claims least wins: the prompt, too, asks for PRESENT when in doubt. */
const PREFERENCE: readonly Label[] = ['PRESENT', 'NA', 'LACKING'];

/**
 * What runs say together about one trajectory and capability: votes, the winning label, and the first run that gave it
 * (null: none did).
 */
export function vote(codes: readonly number[]): Pick<ConsensusLabel, 'label' | 'votes'> & { run: number | null } {
  const votes = Object.fromEntries(
    LABELS.map((label) => [label, codes.filter((code) => code === labelCode(label)).length]),
  ) as ConsensusLabel['votes'];
  const most = Math.max(...Object.values(votes));
  if (most === 0) return { label: null, votes, run: null };
  const label = PREFERENCE.find((candidate) => votes[candidate] === most) as Label;
  return { label, votes, run: codes.indexOf(labelCode(label)) };
}
