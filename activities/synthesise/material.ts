import { validationSchema } from '../../contracts/artifacts/environment-check';
import { calibrationResultSchema } from '../../contracts/artifacts/environment-attempt';
import {
  type ConsensusLabel,
  consensusLabelSchema,
  identificationSchema,
} from '../../contracts/artifacts/identification';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { secondReadingSchema } from '../../contracts/artifacts/second-reading';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { SynthesisInput } from '../../contracts/messages/sharpen-stage';
import { loadProfile } from '../../sandbox';
import { getJson, storedLines, type ArtifactStore } from '../../store';
import { chooseEvidence, type Evidence, nearestTo, possibleExceptions } from './evidence';
import type { RejectedAttempt } from './feedback';
import type { SynthesisMaterial } from './prompt';
import type { ReadTargetProfile } from '../target-profile/read-target-profile';
import { sampleTarget, unseenRefusals } from './target-samples';
import { verdictLines } from './target-verdicts';
import { targetRate } from './target-rate';

/** Number of trajectories, in addition to the evidence, from which openings and observations are sampled. */
const SAMPLED_TRAJECTORIES = 200;

/** The dependencies of reading the material. */
export interface MaterialDeps {
  store: ArtifactStore;
  profileOfTarget: ReadTargetProfile;
}

/**
 * Reads the material of the prompt: the capability, evidence that it is lacking, samples of the target, and the
 * previous attempt. Throws RangeError if the identification does not have the capability. Line files are read once per
 * worker.
 */
export function materialReader(deps: MaterialDeps) {
  const trajectoriesOf = storedLines(deps.store, trajectorySchema);
  const labelsOf = storedLines(deps.store, consensusLabelSchema);

  return async function readMaterial(
    input: SynthesisInput,
    prepared: PreparedSpec,
    signal: AbortSignal,
  ): Promise<SynthesisMaterial> {
    const { context, capability } = input;
    const identification = await getJson(deps.store, input.identification, identificationSchema);
    const candidate = identification.candidates.find(({ id }) => id === capability.id);
    if (!candidate)
      throw new RangeError(`The identification ${input.identification.key} has no capability ${capability.id}.`);
    const trajectories = await trajectoriesOf(input.trajectories);
    const success = new Map<string, boolean>();
    const indexOf = new Map<string, number>();
    const others: Trajectory[] = [];
    for await (const trajectory of trajectories) {
      if (others.length < SAMPLED_TRAJECTORIES) others.push(trajectory);
      indexOf.set(trajectory.id, indexOf.size);
      success.set(trajectory.id, trajectory.success);
    }
    const own: ConsensusLabel[] = [];
    for await (const label of await labelsOf(input.labels)) {
      if (label.capabilityId === capability.id) own.push(label);
    }
    const read = (some: readonly ConsensusLabel[]): Promise<Evidence[]> =>
      Promise.all(
        some.map(async (label) => ({
          label,
          trajectory: await trajectories.at(indexOf.get(label.trajectoryId) as number),
        })),
      );
    const chosen = await read(chooseEvidence(own, success, context.seed));
    const failures = chosen.filter(({ label }) => label.label === 'LACKING');
    const exceptions = nearestTo(failures, await read(possibleExceptions(own, success, context.seed)));
    const shown = chosen.map(({ trajectory }) => trajectory);
    const { tools, hasSay, judgement, refused } = await deps.profileOfTarget(context, prepared, signal);
    const { calibration, certificate, environment, training } = prepared.spec;
    const known = new Map([...shown, ...others].map((trajectory) => [trajectory.id, trajectory]));
    const samples = sampleTarget(known.values());
    return {
      capability: candidate,
      tools,
      demands: {
        calibration,
        certificate,
        successReward: environment.successReward,
        maxTurns: environment.maxTurns,
        maxCompletionTokens: training.maxCompletionTokens,
        hasSay,
        jail: loadProfile().profile,
      },
      samples: { ...samples, errors: [...samples.errors, ...unseenRefusals(samples.errors, refused)] },
      verdicts: verdictLines(judgement),
      rate: targetRate(own, success),
      evidence: [...chosen, ...exceptions],
      previous: await rejected(deps.store, input),
    };
  };
}

async function rejected(store: ArtifactStore, { previous, history }: SynthesisInput): Promise<RejectedAttempt | null> {
  if (previous === null) return null;
  const rollouts: Trajectory[] = [];
  if (previous.rollouts) {
    for await (const trajectory of await storedLines(store, trajectorySchema)(previous.rollouts))
      rollouts.push(trajectory);
  }
  return {
    attempt: previous.attempt,
    source: (await store.get(previous.source)).toString('utf8'),
    validation: await getJson(store, previous.validation, validationSchema),
    calibration: previous.calibration && (await getJson(store, previous.calibration, calibrationResultSchema)),
    rollouts,
    reading: previous.reading ? await getJson(store, previous.reading, secondReadingSchema) : null,
    history,
  };
}
