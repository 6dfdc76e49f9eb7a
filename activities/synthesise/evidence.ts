import type { ConsensusLabel, Label } from '../../contracts/artifacts/identification';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import { contentKey } from '../../llm';
import { wordsOf } from '../environment-checks/words';
import { jaccard } from '../statistics/jaccard';

const MAX_LACKING = 4;
const MAX_PRESENT = 3;
const MAX_EXCEPTIONS = 2;
/**
 * Number of successes to read that did not need the capability. From these, the ones most like the failures are chosen.
 */
const EXCEPTIONS_READ = 40;

/** An episode, and the analyst's label of the capability in it. */
export interface Evidence {
  trajectory: Trajectory;
  label: ConsensusLabel;
}

/**
 * Chooses labels of one capability to show: failures that lack it and successes that show it. Labels with the highest
 * agreement between labelling runs come first; the seed and the trajectory's id break ties.
 * @param success whether each trajectory succeeded, by id.
 */
export function chooseEvidence(
  labels: readonly ConsensusLabel[],
  success: ReadonlyMap<string, boolean>,
  seed: number,
): ConsensusLabel[] {
  return [
    ...drawn(labels, success, seed, ['LACKING', false], MAX_LACKING),
    ...drawn(labels, success, seed, ['PRESENT', true], MAX_PRESENT),
  ];
}

/** Like `chooseEvidence`: successes that did not need the capability, from which `nearestTo` chooses. */
export function possibleExceptions(
  labels: readonly ConsensusLabel[],
  success: ReadonlyMap<string, boolean>,
  seed: number,
): ConsensusLabel[] {
  return drawn(labels, success, seed, ['NA', true], EXCEPTIONS_READ);
}

/** The exceptions whose openings share most words with the failures' openings, because small differences teach most. */
export function nearestTo(failures: readonly Evidence[], exceptions: readonly Evidence[]): Evidence[] {
  const openingOf = ({ trajectory }: Evidence) =>
    new Set(wordsOf(trajectory.messages.find(({ role }) => role === 'user')?.content ?? ''));
  const openings = failures.map(openingOf);
  const likeness = (item: Evidence) => Math.max(0, ...openings.map((opening) => jaccard(opening, openingOf(item))));
  return exceptions
    .map((item) => ({ item, like: likeness(item) }))
    .sort((a, b) => b.like - a.like)
    .slice(0, MAX_EXCEPTIONS)
    .map(({ item }) => item);
}

function drawn(
  labels: readonly ConsensusLabel[],
  success: ReadonlyMap<string, boolean>,
  seed: number,
  [wanted, outcome]: [Label, boolean],
  count: number,
): ConsensusLabel[] {
  return labels
    .filter(({ label, trajectoryId }) => label === wanted && success.get(trajectoryId) === outcome)
    .map((label) => ({
      label,
      share: agreement(label, wanted),
      rank: contentKey('evidence', String(seed), label.trajectoryId),
    }))
    .sort((a, b) => b.share - a.share || (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ label }) => label);
}

const agreement = ({ votes }: ConsensusLabel, label: Label): number =>
  votes[label] / (votes.NA + votes.PRESENT + votes.LACKING);
