import { rename } from 'node:fs/promises';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { watchClause } from '../../contracts/artifacts/watch-words';
import type { TrainedAdapter, TrialManifest } from '../../contracts/artifacts/training';
import type { JobActivities } from '../../contracts/messages/activities';
import type { RunContext } from '../../contracts/messages/run-context';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { failure } from '../../contracts/typed-failure';
import type { ArtifactStore } from '../../store';
import { baseModelChanged, requireFrozenBaseModel, trainedModelPath } from '../base-model';
import { readPreparedSpec } from '../prepared-spec';
import { removeCheckpoints } from './checkpoints';
import { removeWarmStart, withWarmStart } from './warm-start';
import { storeAdapter } from './store-adapter';
import type { TrainingBackend } from './backend';
import { trainToCompletion } from './train-to-completion';
import { adapterKey, type ReuseKey, trainerImage } from '../reuse/content-keys';
import { keepReusable } from '../reuse/reuse-records';
import { projectVersion } from '../../contracts/project-version';
import { continuedAdapter, takeTrained } from './take-trained';
import { type PlannedJob, planTraining } from './training-job';
import { planTrial } from './trial/plan-trial';
import { tryTrainer } from './trial/try-trainer';

/** The dependencies of the training activities. */
interface TrainDeps {
  store: ArtifactStore;
  /** Backends by the value of `training.backend`; a worker without a cluster has only `local`. */
  backends: { local: TrainingBackend; kubernetes?: TrainingBackend };
  /** Number of parallel trainings of this worker, used only in messages of trainings that wait. Default: no limit. */
  atOnce?: number;
  /** The policy server of `whet up`, from which trainers may sample. Default: unknown. */
  modelUrl?: string | null;
}

/**
 * The job of a training with the reuse key of its inputs. A training that continues an adapter is another job with
 * other inputs.
 */
async function planReuse(
  {
    store,
    prepared,
    backend,
    modelUrl,
  }: { store: ArtifactStore; prepared: PreparedSpec; backend: TrainingBackend; modelUrl: string | null },
  { continues: wanted, ...input }: TrainInput,
): Promise<{ planned: PlannedJob; key: ReuseKey; asked: TrainInput }> {
  const plan = (asked: TrainInput) => planTraining(store, prepared, asked, backend.jailProfile, modelUrl);
  const trainer = { version: projectVersion(), image: trainerImage(prepared.spec.training) };
  const planned = await plan(input);
  const key = adapterKey(planned.job, prepared.baseModelSha256, trainer);
  const continues = wanted && (await continuedAdapter(store, prepared, { ...input, continues: wanted }, key));
  if (!continues) return { planned, key, asked: input };
  const asked = { ...input, continues };
  const further = await plan(asked);
  return { planned: further, key: adapterKey(further.job, prepared.baseModelSha256, trainer, continues), asked };
}

/** Activities of the queue `whet-jobs`. */
export function createTrainActivities({
  store,
  backends,
  atOnce = Infinity,
  modelUrl = null,
}: TrainDeps): JobActivities {
  const backendOf = ({ spec }: PreparedSpec): TrainingBackend => {
    const backend = backends[spec.training.backend];
    if (backend !== undefined) return backend;
    throw failure(
      'Trainer.ClusterRefused',
      'training.backend is kubernetes, but this worker has no cluster: set KUBECONFIG, or run it in the cluster.',
    );
  };
  return {
    /**
     * Trains one adapter and stores it, or takes an earlier run's adapter with the same inputs. If the active version
     * has an adapter for the capability, the training begins from it (`training.warmStart`). If the input names an
     * adapter to continue, the training continues it although its inputs were trained before. It resumes at the latest
     * possible point: it takes an existing manifest, attaches to a running trainer, or starts one from its last
     * checkpoint. Cancelling the activity stops the trainer. When a worker shuts down, the trainer continues, and the
     * next attempt attaches to it. With `training.packing` it may first wait for other trainings of the run that can
     * share the trainer.
     * @throws Trainer.*, Model.Changed.
     */
    async trainAdapter(input: TrainInput): Promise<TrainedAdapter> {
      const prepared = await readPreparedSpec(store, input.context.spec);
      const backend = backendOf(prepared);
      await requireFrozenBaseModel(store, prepared, 'sharpen');
      const { planned, key, asked } = await planReuse({ store, prepared, backend, modelUrl }, input);
      const known = await takeTrained(store, prepared, input, planned, key);
      if (known !== null) return known;
      const begun = await withWarmStart(store, prepared, asked, planned);
      const manifest = await trainToCompletion({ store, atOnce }, backend, { input, prepared, planned: begun });
      // The model that the trainer read counts, because the trainer may see another directory under this path than the
      // worker.
      const trainedOn = manifest.baseModelSha256;
      if (trainedOn !== prepared.baseModelSha256) {
        // The directory is set aside, so that the next attempt trains again.
        await rename(planned.directory, `${planned.directory}-on-${trainedOn.slice(0, 12)}-${Date.now()}`);
        throw baseModelChanged(trainedModelPath(prepared), prepared.baseModelSha256, trainedOn);
      }
      if (manifest.nothingLearned !== undefined)
        throw failure(
          'Trainer.NothingLearned',
          `The training of ${input.job} learned nothing: ${manifest.nothingLearned}. Its log is ${planned.directory}.`,
        );
      const { partialReward = 1, watch } = manifest;
      if (watch?.kept === 0)
        throw failure(
          'Trainer.Harmful',
          `The adapter of ${input.job} is not kept: ${watchClause(watch)}. ` +
            `Its environment teaches what the agent's own tasks punish. Its log is ${planned.directory}.`,
        );
      if (partialReward < prepared.spec.environment.successReward)
        throw failure(
          'Trainer.PartialReward',
          `The training of ${input.job} learned a safe reward in place of its task: at its end every rollout earned ` +
            `${partialReward.toFixed(2)}, and a success earns ${prepared.spec.environment.successReward} or more. ` +
            `Its log is ${planned.directory}.`,
        );
      const adapter = await storeAdapter(store, input.context.agent, input.job, planned, manifest);
      // Now there are two copies of the adapter, so no checkpoint is needed any more.
      await removeCheckpoints(planned.directory);
      await removeWarmStart(planned.directory);
      // If the trainer could not read the adapter to continue, the result does not match the key.
      const isAsKeyed = asked.continues === undefined || manifest.beginsFrom?.sha256 === asked.continues;
      // Nothing watched it although the key says so. Later trainings are watched once the cause is mended.
      const isUnwatched = planned.job.watch !== undefined && manifest.unwatched !== undefined;
      if (isAsKeyed && !isUnwatched)
        await keepReusable(store, input.context.agent, key, { runId: input.context.runId, adapter });
      return adapter;
    },

    /**
     * Lets a trainer test the needs of the run's trainings, on the same backend and in the same kind of pod: image,
     * store, base model, jail and GPUs. So a fault there is found before anything is paid. It reuses the result of an
     * earlier attempt. Cancelling the activity stops the trainer.
     * @throws Trainer.*, Model.Changed.
     */
    async tryTraining(context: RunContext): Promise<TrialManifest> {
      const prepared = await readPreparedSpec(store, context.spec);
      const backend = backendOf(prepared);
      await requireFrozenBaseModel(store, prepared, 'collect');
      const planned = await planTrial(store, prepared, context, backend.jailProfile, modelUrl);
      return tryTrainer(backend, { context, prepared, planned });
    },
  };
}
