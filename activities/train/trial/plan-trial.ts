import { join } from 'node:path';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import { type TrialJob, trialJobSchema } from '../../../contracts/artifacts/training';
import type { RunContext } from '../../../contracts/messages/run-context';
import { TRIAL } from '../../../contracts/names';
import { type ArtifactStore, layout } from '../../../store';
import { listModelFiles } from '../../../store/model-hash';
import { isVisible, trainedModelPath } from '../../base-model';
import { jobFile, type PlannedJob, sha256 } from '../training-job';

/** Files of the base model up to this size are compared by content, larger ones only by size. */
const HASHED_BYTES = 1 << 20;
/** Stands for an environment. The trainer compares its hash to check that it reads the same store as the worker. */
const ENVIRONMENT = '# Written by the worker. No environment: a trial trains nothing.\n';

/**
 * Plans a trial: the job of a training with the run's own options, but without an environment. The directory's name
 * depends on everything that is tested. So a changed spec is tested again, and a retry finds the result.
 */
export async function planTrial(
  store: ArtifactStore,
  prepared: PreparedSpec,
  { runId, seed }: RunContext,
  jailProfile: string,
  modelUrl: string | null,
): Promise<PlannedJob> {
  const { training } = prepared.spec;
  const identity = JSON.stringify([training, prepared.baseModelSha256, prepared.sandbox.mode, jailProfile]);
  const key = layout.trial(runId, sha256(identity).slice(0, 12));
  const directory = store.localPath(key);
  const file = `${TRIAL}.py`;
  const environment = { id: TRIAL, path: join(directory, 'environments', file), sha256: sha256(ENVIRONMENT) };
  const { iterations } = training;
  const job: TrialJob = trialJobSchema.parse({
    ...jobFile(prepared, {
      runId,
      name: TRIAL,
      seed,
      environments: [environment],
      iterations,
      directory,
      jailProfile,
      modelUrl,
    }),
    trial: { gpus: visibleGpus(prepared), modelFiles: await modelFilesOf(prepared) },
  });
  return { key, directory, job, sources: new Map([[file, Buffer.from(ENVIRONMENT)]]) };
}

/** GPUs that torch must see. A local trainer requires none and uses the available GPUs. */
function visibleGpus({ spec: { training } }: PreparedSpec): number {
  if (training.backend === 'local' || training.kubernetes === undefined) return 0;
  return training.kubernetes.resources.gpus;
}

/** The files of the base model; empty if only the trainers can see them. */
async function modelFilesOf(prepared: PreparedSpec): Promise<TrialJob['trial']['modelFiles']> {
  const modelPath = trainedModelPath(prepared);
  return (await isVisible(modelPath)) ? listModelFiles(modelPath, HASHED_BYTES) : [];
}
