import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type { JobActivities } from '../../contracts/messages/activities';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { failure } from '../../contracts/typed-failure';
import type { ArtifactStore } from '../../store';
import { type Clock, systemClock } from '../clock';
import { readPreparedSpec } from '../prepared-spec';
import { storeAdapter } from './store-adapter';
import type { TrainingBackend } from './backend';
import { trainToCompletion } from './train-to-completion';
import { planTraining } from './training-job';

/** What training needs. */
export interface TrainDeps {
  store: ArtifactStore;
  /** Backends by the value of `training.backend`; a worker without a cluster has only `local`. */
  backends: { local: TrainingBackend; kubernetes?: TrainingBackend };
  /** Default: the machine's. */
  clock?: Clock;
  /** Trainings that the worker runs side by side, for what it says while it waits. Default: no limit. */
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
     * Trains one adapter, by whatever is left to do: a manifest is the result; what an attempt whose worker died has
     * left running is watched; otherwise a trainer is started and resumes from its last checkpoint. A cancelled job is
     * stopped; a worker that shuts down leaves it running for the next one to find. With `training.packing` it may wait
     * for others of its run to share a trainer with.
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
      const planned = await planTraining(store, prepared, input, backend.jailProfile);
      const manifest = await trainToCompletion({ store, clock, atOnce }, backend, { input, prepared, planned });
      return storeAdapter(store, input.context.agent, input.job, planned, manifest);
    },
  };
}
