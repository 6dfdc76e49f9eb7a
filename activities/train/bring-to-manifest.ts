import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { TrainingManifest } from '../../contracts/artifacts/training';
import type { JobMember } from '../../k8s/job-member';
import type { ArtifactStore } from '../../store';
import type { Clock } from '../clock';
import { startProgress } from '../progress';
import { readManifest } from './adopt-adapter';
import type { Training, TrainingBackend } from './backend';
import { isUnwanted } from './is-unwanted';
import { alone } from './packs/crew';
import { readTrainingFailure } from './packs/member-files';
import { packGroup } from './packs/pack-group';
import { PackPlace } from './packs/pack-place';
import { lastIteration } from './progress-file';
import { tellRun } from './tell-run';
import { writeJobFiles } from './training-job';

/** What a training is before it has a crew. */
type Planned = Omit<Training, 'crew' | 'progress' | 'signal'>;

interface Deps {
  store: ArtifactStore;
  clock: Clock;
  /** Trainings that this worker runs side by side, those that wait counted. */
  atOnce: number;
}

/** Trains, alone or in a pack, unless the manifest is there. */
export async function bringToManifest(deps: Deps, backend: TrainingBackend, what: Planned): Promise<TrainingManifest> {
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
  const training: Training = { ...what, crew: alone(member), progress, signal: context.cancellationSignal };
  const place = what.prepared.spec.training.packing > 1 ? placeOf(deps, backend, training) : null;
  try {
    return (await readManifest(directory)) ?? (await train(backend, training, place));
  } finally {
    progress.stop();
  }
}

async function train(backend: TrainingBackend, training: Training, place: PackPlace | null): Promise<TrainingManifest> {
  let { crew } = training;
  try {
    // Before the place: whoever closes the pack may start the trainer at once.
    await writeJobFiles(training.planned);
    if (place !== null) crew = await place.take(training.signal);
    training.progress.because(undefined);
    training.progress.say(undefined);
    return await backend.train({ ...training, crew });
  } catch (error) {
    if (error instanceof CancelledFailure) {
      if (await isUnwanted(error.message)) {
        const idle = place === null ? crew : await place.leave('cancelled');
        if (idle !== null) await backend.stop({ ...training, crew: idle });
      }
    } else if (place !== null && (await isFinal(error, training))) {
      const idle = await place.leave((error as Error).message);
      // Not worth another failure: a trainer whose members are all told to go ends by itself.
      if (idle !== null) await backend.stop({ ...training, crew: idle }).catch(() => undefined);
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

function placeOf({ store, clock, atOnce }: Deps, backend: TrainingBackend, training: Training): PackPlace {
  const { input, prepared, planned, crew, progress } = training;
  const { packing, packingWaitSeconds } = prepared.spec.training;
  // Nobody waits for more than can come.
  const most = Math.min(packing, input.sideBySide ?? packing);
  const sinceMs = Date.now();
  let told = false;
  return new PackPlace({
    store,
    clock,
    runId: input.context.runId,
    group: packGroup(prepared, planned.job),
    most,
    waitMs: packingWaitSeconds * 1_000,
    // The adapter of all environments is trained when the others are done: nobody else will come.
    waits: input.environments.length === 1,
    member: crew.members[0] as JobMember,
    isAtWork: (other) => backend.isAtWork({ ...training, crew: other }),
    async say(waitsFor) {
      const message =
        atOnce < most ? `${waitsFor}; this worker trains only ${atOnce} at once (WHET_TRAINERS)` : waitsFor;
      const reason = { kind: 'Queued', message, sinceMs } as const;
      progress.because(reason);
      progress.say(`train ${input.job}: Queued, ${message}`);
      if (!told) await tellRun(input, reason);
      told = true;
    },
  });
}
