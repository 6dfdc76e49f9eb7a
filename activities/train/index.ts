import { rename } from 'node:fs/promises';
import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type { JobActivities } from '../../contracts/messages/activities';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { failure } from '../../contracts/typed-failure';
import type { ArtifactStore } from '../../store';
import { type Clock, systemClock } from '../clock';
import { baseModelChanged, requireFrozenBaseModel } from '../base-model';
import { readPreparedSpec } from '../prepared-spec';
import { removeCheckpoints } from './checkpoints';
import { storeAdapter } from './store-adapter';
import type { TrainingBackend } from './backend';
import { trainToCompletion } from './train-to-completion';
import { planTraining } from './training-job';

/** What the training activities need. */
interface TrainDeps {
  store: ArtifactStore;
  /** Backends by the value of `training.backend`; a worker without a cluster has only `local`. */
  backends: { local: TrainingBackend; kubernetes?: TrainingBackend };
  /** Default: the system's clock. */
  clock?: Clock;
  /** How many trainings this worker runs side by side; only for messages of trainings that wait. Default: no limit. */
  atOnce?: number;
}

/** Activities of the queue `whet-jobs`. */
export function createTrainActivities({
  store,
  backends,
  clock = systemClock,
  atOnce = Infinity,
}: TrainDeps): JobActivities {
  return {
    /**
     * Trains one adapter and stores it. Resumes at the furthest point: takes an existing manifest, attaches to a
     * running trainer, or starts one, which goes on from its last checkpoint. Cancelling the activity stops the
     * trainer. A worker that shuts down leaves the trainer running, and the next attempt attaches to it. With
     * `training.packing` it may first wait for other trainings of the run to share a trainer with.
     * @throws Trainer.*, Model.Changed.
     */
    async trainAdapter(input: TrainInput): Promise<TrainedAdapter> {
      const prepared = await readPreparedSpec(store, input.context.spec);
      const backend = backends[prepared.spec.training.backend];
      if (backend === undefined) {
        throw failure(
          'Trainer.ClusterRefused',
          'training.backend is kubernetes, but this worker has no cluster: set KUBECONFIG, or run it in the cluster.',
        );
      }
      await requireFrozenBaseModel(store, prepared, 'sharpen');
      const planned = await planTraining(store, prepared, input, backend.jailProfile);
      const manifest = await trainToCompletion({ store, clock, atOnce }, backend, { input, prepared, planned });
      // What the trainer read is what counts: it may see another directory under this path than the worker.
      const trainedOn = manifest.baseModelSha256;
      if (trainedOn !== prepared.baseModelSha256) {
        // Set aside, so that the next attempt trains anew.
        await rename(planned.directory, `${planned.directory}-on-${trainedOn.slice(0, 12)}-${Date.now()}`);
        throw baseModelChanged(prepared.modelPath, prepared.baseModelSha256, trainedOn);
      }
      const adapter = await storeAdapter(store, input.context.agent, input.job, planned, manifest);
      // The adapter is there twice by now, so nothing goes on from a checkpoint any more.
      await removeCheckpoints(planned.directory);
      return adapter;
    },
  };
}
