import { type ConsensusLabel, consensusLabelSchema } from '../../contracts/artifacts/identification';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { ReadingInput } from '../../contracts/messages/sharpen-stage';
import { contentKey } from '../../llm';
import { type ArtifactStore, storedLines } from '../../store';
import type { LabelNoise } from './judge-reading';

/** What the target's labelled episodes say about a capability. */
export interface TargetEpisodes {
  /** Episodes with a sure label, which the reader sees among the environment's rollouts. */
  controls: { trajectory: Trajectory; label: 'LACKING' | 'PRESENT' }[];
  /** Share of the controls whose label may be wrong, in [0, 1]. */
  controlNoise: number;
  noise: LabelNoise;
  counts: { lacking: number; present: number };
  /** Some episodes, for the words that are usual in the target. */
  samples: Trajectory[];
}

/** Most controls with one label, and most episodes for usual words. */
const MOST_CONTROLS = 8;
const MOST_SAMPLES = 200;
/**
 * Noise of labels is never taken to be less, nor more: more would excuse any environment. A single labelling run tells
 * nothing about it, so then it is the least.
 */
const NOISE = { least: 0.05, most: 0.2 } as const;
/** Share of sure labels that may be wrong, by the number of labelling runs that agree. One alone proves less. */
const CONTROL_NOISE = { single: 0.15, several: 0.1 } as const;

/** Reads the target's episodes and their consensus labels of one capability. @throws the signal's reason. */
export async function readTargetEpisodes(
  store: ArtifactStore,
  { capability, trajectories, labels }: Pick<ReadingInput, 'capability' | 'trajectories' | 'labels'>,
  signal: AbortSignal,
): Promise<TargetEpisodes> {
  const own = new Map<string, ConsensusLabel>();
  for await (const label of await storedLines(store, consensusLabelSchema)(labels)) {
    signal.throwIfAborted();
    if (label.capabilityId === capability.id) own.set(label.trajectoryId, label);
  }
  const samples: Trajectory[] = [];
  const lacking: { trajectory: Trajectory; rank: string }[] = [];
  const present: { trajectory: Trajectory; rank: string }[] = [];
  const successes = { lacking: 0, all: 0 };
  for await (const trajectory of await storedLines(store, trajectorySchema)(trajectories)) {
    signal.throwIfAborted();
    if (samples.length < MOST_SAMPLES) samples.push(trajectory);
    const label = own.get(trajectory.id);
    if (label?.label !== 'LACKING' && label?.label !== 'PRESENT') continue;
    if (trajectory.success) {
      successes.all += 1;
      successes.lacking += Number(label.label === 'LACKING');
    }
    // Label and outcome agree as well, so both point to the same.
    if (isSure(label) && trajectory.success === (label.label === 'PRESENT'))
      keepSome(label.label === 'LACKING' ? lacking : present, trajectory);
  }
  const all = [...own.values()];
  const count = (wanted: ConsensusLabel['label']): number => all.filter(({ label }) => label === wanted).length;
  return {
    controls: inTurns(
      lacking.map(({ trajectory }) => ({ trajectory, label: 'LACKING' })),
      present.map(({ trajectory }) => ({ trajectory, label: 'PRESENT' })),
    ),
    controlNoise: all.every((label) => total(label) < 2) ? CONTROL_NOISE.single : CONTROL_NOISE.several,
    noise: noiseOf(all, successes),
    counts: { lacking: count('LACKING'), present: count('PRESENT') },
    samples,
  };
}

const total = ({ votes }: ConsensusLabel): number => votes.NA + votes.PRESENT + votes.LACKING;

const isSure = (label: ConsensusLabel): boolean => label.votes[label.label!] === total(label);

/**
 * Keeps some, by their content. The shortest would cost least, but their labels are wrong oftenest: an episode without
 * an occasion for the capability is short.
 */
function keepSome(kept: { trajectory: Trajectory; rank: string }[], trajectory: Trajectory): void {
  kept.push({ trajectory, rank: contentKey('control', trajectory.id) });
  kept.sort((a, b) => (a.rank < b.rank ? -1 : 1)).splice(MOST_CONTROLS);
}

type Controls = TargetEpisodes['controls'];

/** Two of LACKING for each of PRESENT: an environment gains only if what lacks the capability is called PRESENT. */
const inTurns = (lacking: Controls, present: Controls): Controls =>
  Array.from({ length: MOST_CONTROLS }, (_, i) => [
    ...lacking.slice(2 * i, 2 * i + 2),
    ...present.slice(i, i + 1),
  ]).flat();

/**
 * The noise of labels, from how far labelling runs differ from their consensus. The target itself may pay agents that
 * lack the capability; an environment may do so as often.
 */
function noiseOf(labels: readonly ConsensusLabel[], successes: { lacking: number; all: number }): LabelNoise {
  const bounded = (share: number): number => Math.min(NOISE.most, Math.max(NOISE.least, share));
  const shareOf = (vote: 'LACKING' | 'NA', others: readonly ConsensusLabel[]): number => {
    const votes = others.reduce((sum, label) => sum + label.votes[vote], 0);
    const all = others.reduce((sum, label) => sum + total(label), 0);
    return all === 0 ? 0 : votes / all;
  };
  return {
    lacking: bounded(
      Math.max(
        shareOf(
          'LACKING',
          labels.filter(({ label }) => label === 'PRESENT'),
        ),
        successes.all === 0 ? 0 : successes.lacking / successes.all,
      ),
    ),
    notCalledFor: bounded(
      shareOf(
        'NA',
        labels.filter(({ label }) => label === 'PRESENT' || label === 'LACKING'),
      ),
    ),
  };
}
