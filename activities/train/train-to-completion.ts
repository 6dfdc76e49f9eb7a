import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { TrainingManifest } from '../../contracts/artifacts/training';
import type { GroupMember } from '../../k8s/group-member';
import type { ArtifactStore } from '../../store';
import type { Clock } from '../clock';
import { startProgress } from '../progress';
import { readManifest } from './store-adapter';
import type { Training, TrainingBackend } from './backend';
import { isAbandoned } from './is-abandoned';
import { groupOfOne } from './trainer-group';
import { readTrainingFailure } from './packs/member-files';
import { packingKey } from './packs/packing-key';
import { PackMembership } from './packs/pack-membership';
import { lastIteration } from './progress-file';
import { signalStatus } from './signal-status';
import { writeJobFiles } from './training-job';

/** What a training is before it has a group. */
type Planned = Omit<Training, 'group' | 'progress' | 'signal'>;

interface Deps {
  store: ArtifactStore;
  clock: Clock;
  /** Trainings that this worker runs side by side, those that wait counted. */
  atOnce: number;
}

/** Trains, alone or in a pack, unless the manifest is there. */
export async function trainToCompletion(
  deps: Deps,
  backend: TrainingBackend,
  what: Planned,
): Promise<TrainingManifest> {
  const { input, planned } = what;
  const { directory, job } = planned;
  const context = Context.current();
  const progress = startProgress({
    stage: 'sharpen',
    unit: 'iterations',
    total: job.algorithm.iterations,
    done: (await lastIteration(directory))?.iteration ?? 0,
    note: `train ${input.job}`,
    everyMs: 500,
    heartbeat: (details) => context.heartbeat(details),
  });
  const member = { capability: input.job, directoryKey: planned.key, directory };
  const training: Training = { ...what, group: groupOfOne(member), progress, signal: context.cancellationSignal };
  const place = what.prepared.spec.training.packing > 1 ? placeOf(deps, backend, training) : null;
  try {
    return (await readManifest(directory)) ?? (await train(backend, training, place));
  } finally {
    progress.stop();
  }
}

async function train(
  backend: TrainingBackend,
  training: Training,
  place: PackMembership | null,
): Promise<TrainingManifest> {
  let { group } = training;
  try {
    // Before the place: whoever closes the pack may start the trainer at once.
    await writeJobFiles(training.planned);
    if (place !== null) group = await place.take(training.signal);
    training.progress.setReason(undefined);
    training.progress.setNote(undefined);
    return await backend.train({ ...training, group });
  } catch (error) {
    if (error instanceof CancelledFailure) {
      if (await isAbandoned(error.message)) {
        const idle = place === null ? group : await place.leave('cancelled');
        if (idle !== null) await backend.stop({ ...training, group: idle });
      }
    } else if (place !== null && (await isFinal(error, training))) {
      const idle = await place.leave((error as Error).message);
      // Not worth another failure: a trainer whose members are all told to go ends by itself.
      if (idle !== null) await backend.stop({ ...training, group: idle }).catch(() => undefined);
    }
    throw error;
  }
}

/** Whether the next attempt is a person's decision, or the trainer that others share has let this training go. */
async function isFinal(error: unknown, { planned }: Training): Promise<boolean> {
  return (
    (error instanceof ApplicationFailure && error.nonRetryable === true) ||
    (await readTrainingFailure(planned.directory)) !== null
  );
}

function placeOf({ store, clock, atOnce }: Deps, backend: TrainingBackend, training: Training): PackMembership {
  const { input, prepared, planned, group, progress } = training;
  const { packing, packingWaitSeconds } = prepared.spec.training;
  // Nobody waits for more than can come.
  const most = Math.min(packing, input.sideBySide ?? packing);
  const sinceMs = Date.now();
  let told = false;
  return new PackMembership({
    store,
    clock,
    runId: input.context.runId,
    packingKey: packingKey(prepared, planned.job),
    most,
    waitMs: packingWaitSeconds * 1_000,
    // The adapter of all environments is trained when the others are done: nobody else will come.
    waits: input.environments.length === 1,
    member: group.members[0] as GroupMember,
    isTraining: (other) => backend.isTraining({ ...training, group: other }),
    async say(waitsFor) {
      const message =
        atOnce < most ? `${waitsFor}; this worker trains only ${atOnce} at once (WHET_TRAINERS)` : waitsFor;
      const reason = { kind: 'Queued', message, sinceMs } as const;
      progress.setReason(reason);
      progress.setNote(`train ${input.job}: Queued, ${message}`);
      if (!told) await signalStatus(input, reason);
      told = true;
    },
  });
}
