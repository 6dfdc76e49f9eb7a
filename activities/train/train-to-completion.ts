import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Context, log } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { TrainingManifest } from '../../contracts/artifacts/training';
import { failure } from '../../contracts/typed-failure';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import type { GroupMember } from '../../k8s/group-member';
import type { ArtifactStore } from '../../store';
import { systemClock } from '../clock';
import { Progress } from '../progress';
import type { Training, TrainingBackend } from './backend';
import { noteOf, trainingOf } from './describe-training';
import { readManifest, takeManifest } from './manifest-file';
import { readTrainingFailure } from './packs/failure-files';
import { PackMembership } from './packs/pack-membership';
import { packingKey } from './packs/packing-key';
import { lastIteration } from './progress-file';
import { signalStatus } from './signal-status';
import { groupOfOne } from './trainer-group';
import { DISK_RETRY } from './trainer-failure';
import { writeJobFiles } from './training-job';
import { waitWhileCancelled } from './wait-while-cancelled';

/** The trainer waits an hour for the next touch (docs/reference/protocols.md, section 6). */
const HEARTBEAT_FILE_MS = 60_000;

/** A training that has no trainer group yet. */
type PlannedTraining = Pick<Training, 'prepared' | 'planned'> & { input: TrainInput };

interface Deps {
  store: ArtifactStore;
  /** Number of parallel trainings of this worker, including those that wait for a pack. */
  atOnce: number;
}

/**
 * Returns the training's manifest. If there is none yet, it trains until there is one: in a pack if `training.packing`
 * allows several members, else alone. Heartbeats meanwhile.
 * @throws Trainer.*, or CancelledFailure. A training that failed for good, or that nobody waits for, leaves its pack.
 *   Its trainer is stopped if no other member needs it.
 */
export async function trainToCompletion(
  deps: Deps,
  backend: TrainingBackend,
  plannedTraining: PlannedTraining,
): Promise<TrainingManifest> {
  const { input, planned, prepared } = plannedTraining;
  const { directory, job } = planned;
  using progress = new Progress({
    stage: 'sharpen',
    unit: 'iterations',
    total: job.algorithm.iterations,
    done: (await lastIteration(directory))?.iteration ?? 0,
    note: noteOf({ kind: 'training', input }),
    everyMs: 500,
  });
  const group = groupOfOne({ capability: input.job, directoryKey: planned.key, directory });
  const training = {
    ...plannedTraining,
    kind: 'training' as const,
    readManifest,
    group,
    progress,
    signal: Context.current().cancellationSignal,
  };
  const membership = prepared.spec.training.packing > 1 ? packMembership(deps, backend, training) : null;
  const done = await takeManifest(directory, (sentence) => {
    log.warn(sentence);
    progress.setNote(sentence);
  });
  return done ?? (await runTrainer(backend, training, membership));
}

/**
 * Writes the job files, lets the backend run a trainer for them, and returns the manifest. A trainer is stopped if
 * nobody waits for it any more, unless other members of its pack need it.
 */
export async function runTrainer<Manifest>(
  backend: TrainingBackend,
  training: Training<Manifest>,
  membership: PackMembership | null = null,
): Promise<Manifest> {
  let { group } = training;
  try {
    await waitWhileCancelled(training.input.context.runId, systemClock, training.signal);
    // This comes before joining a pack, because the worker that closes the pack may start the trainer at once.
    await writeJobFiles(training.planned);
    using _ = await keepHeartbeat(training.planned.directory);
    if (membership !== null) group = await membership.join(training.signal);
    training.progress.setReason(undefined);
    training.progress.setNote(undefined);
    return await backend.train({ ...training, group });
  } catch (error) {
    if (error instanceof CancelledFailure) {
      if (await isAbandoned(error.message)) {
        const unused = membership === null ? group : await membership.leave('cancelled');
        if (unused !== null) await backend.stop({ ...training, group: unused });
      }
    } else if (membership !== null && (await isFinal(error, training))) {
      const unused = await membership.leave((error as Error).message);
      // A failure to stop the trainer must not hide the training's own failure. The trainer ends by itself once all
      // members are cancelled.
      if (unused !== null) await backend.stop({ ...training, group: unused }).catch(() => undefined);
    }
    throw fullDisk(error, training) ?? error;
  }
}

/**
 * Shows the trainer of a directory that a worker still wants its result: touches the file `attended` now and every
 * minute until the result is disposed of. After an hour without a touch the trainer saves a checkpoint and ends,
 * so that a forgotten one does not occupy its GPU for ever.
 */
async function keepHeartbeat(directory: string): Promise<Disposable> {
  const path = join(directory, 'attended');
  // A full disk must not end the training here: the trainer continues for an hour without touches.
  const touch = async (): Promise<void> => {
    const now = new Date();
    await utimes(path, now, now).catch(() => writeFile(path, '').catch(() => undefined));
  };
  await touch();
  return setInterval(() => void touch(), HEARTBEAT_FILE_MS).unref();
}

/**
 * Whether nobody waits for the activity's result any more, so that its job can be stopped. This is true if the activity
 * was cancelled, or if its run has ended. It is false if the worker shuts down, or if Temporal has given this attempt
 * up: a later attempt takes the job over.
 * @param cause message of the cancellation, which names its cause. Temporal sends `NOT_FOUND` (it does not know the
 *   activity) in two cases: the attempt was given up, or the run was terminated.
 */
async function isAbandoned(cause: string): Promise<boolean> {
  if (cause !== 'NOT_FOUND') return cause === 'CANCELLED';
  const { client, info } = Context.current();
  const { workflowId, runId } = info.workflowExecution ?? { workflowId: '', runId: '' };
  return client.workflow
    .getHandle(workflowId, runId)
    .describe()
    .then(
      ({ status }) => status.name !== 'RUNNING' && status.name !== 'PAUSED',
      () => false,
    );
}

/** The failure of an attempt that could not write its own files; null for any other error. */
function fullDisk(error: unknown, training: Training): ApplicationFailure | null {
  const { planned } = training;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return null;
  const message = `The disk of ${planned.directory} is full (${(error as Error).message}).`;
  return failure('Trainer.DiskFull', `${message} ${trainingOf(training)} is tried again every minute.`, {
    cause: error as Error,
    nextRetryDelay: DISK_RETRY,
  });
}

/**
 * Whether this trainer has finished with the training: it dropped the training, or a person decides about the next
 * attempt.
 */
async function isFinal(error: unknown, { planned }: Training): Promise<boolean> {
  return (
    (error instanceof ApplicationFailure && error.nonRetryable === true) ||
    (await readTrainingFailure(planned.directory)) !== null
  );
}

function packMembership(
  { store, atOnce }: Deps,
  backend: TrainingBackend,
  training: Training & { input: TrainInput },
): PackMembership {
  const { input, prepared, planned, group, progress } = training;
  const { packing, packingWaitSeconds } = prepared.spec.training;
  // A pack cannot have more members than the run has trainings.
  const maxMembers = Math.min(packing, input.sideBySide ?? packing);
  const sinceMs = Date.now();
  let signalled = false;
  return new PackMembership({
    store,
    clock: systemClock,
    runId: input.context.runId,
    packingKey: packingKey(prepared, planned.job),
    maxMembers,
    waitMs: packingWaitSeconds * 1_000,
    // The mixed adapter is trained after all others, so no other training will come.
    waitsForOthers: input.environments.length === 1,
    member: group.members[0] as GroupMember,
    isTraining: (other) => backend.isTraining({ ...training, group: other }),
    async reportWait(waitsFor) {
      const message =
        atOnce < maxMembers ? `${waitsFor}; this worker trains only ${atOnce} at once (WHET_TRAINERS)` : waitsFor;
      const reason = { kind: 'Queued', message, sinceMs } as const;
      progress.setReason(reason);
      progress.setNote(`${noteOf(training)}: Queued, ${message}`);
      if (!signalled) await signalStatus(training, reason);
      signalled = true;
    },
  });
}
