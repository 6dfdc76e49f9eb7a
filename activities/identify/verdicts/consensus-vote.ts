import { type ConsensusLabel, type Label, LABELS } from '../../../contracts/artifacts/identification';
import { labelCode, type RunLabels } from './label-codes';

/**
 * The order of preference in a tied vote: the most cautious label first. The prompt also asks for PRESENT in case of
 * doubt.
 */
const PREFERENCE: readonly Label[] = ['PRESENT', 'NA', 'LACKING'];

/**
 * The vote of the labelling runs on one trajectory and capability: the number of runs for each label, the winning
 * label, and the first run that gave it. Label and run are null if no run has a label. `codes` has one code for each
 * run.
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

/** The consensus label code of each trajectory, by the vote of a candidate's labelling runs. */
export function consensusCodes(labels: RunLabels): Uint8Array {
  const [first] = labels;
  return Uint8Array.from(first ?? [], (_, t) => labelCode(consensusVote(labels.map((codes) => codes[t]!)).label));
}
