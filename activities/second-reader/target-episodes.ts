import { type ConsensusLabel, consensusLabelSchema } from '../../contracts/artifacts/identification';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { ReadingInput } from '../../contracts/messages/sharpen-stage';
import { type ArtifactStore, storedLines } from '../../store';
import type { LabelNoise } from './judge-reading';

/** What the target's labelled episodes say about a capability. */
export interface TargetEpisodes {
  /** Episodes with a sure label, which the reader sees among the environment's rollouts. */
  controls: { trajectory: Trajectory; label: 'LACKING' | 'PRESENT' }[];
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
  const lacking: Trajectory[] = [];
  const present: Trajectory[] = [];
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
      keepShortest(label.label === 'LACKING' ? lacking : present, trajectory);
  }
  const all = [...own.values()];
  const count = (wanted: ConsensusLabel['label']): number => all.filter(({ label }) => label === wanted).length;
  return {
    controls: inTurns(
      lacking.map((trajectory) => ({ trajectory, label: 'LACKING' })),
      present.map((trajectory) => ({ trajectory, label: 'PRESENT' })),
    ),
    noise: noiseOf(all, successes),
    counts: { lacking: count('LACKING'), present: count('PRESENT') },
    samples,
  };
}

const total = ({ votes }: ConsensusLabel): number => votes.NA + votes.PRESENT + votes.LACKING;

const isSure = (label: ConsensusLabel): boolean => label.votes[label.label!] === total(label);

const lengthOf = ({ messages }: Trajectory): number => JSON.stringify(messages).length;

/** Keeps the shortest ones, because they are paid for by the token. */
function keepShortest(kept: Trajectory[], trajectory: Trajectory): void {
  kept.push(trajectory);
  kept.sort((a, b) => lengthOf(a) - lengthOf(b) || (a.id < b.id ? -1 : 1)).splice(MOST_CONTROLS);
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
