import { reusableAdapterSchema } from '../../contracts/artifacts/reuse';
import { type TrainedAdapter, trainingManifestSchema } from '../../contracts/artifacts/training';
import type { RunContext } from '../../contracts/messages/run-context';
import { projectVersion } from '../../contracts/project-version';
import { type ArtifactStore, orIfMissing } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import type { ReuseKey } from '../reuse/content-keys';
import { takeReusable } from '../reuse/reuse-records';
import type { PlannedJob } from './training-job';

/** Trainers of earlier versions did not say which they were. */
const trainerSchema = trainingManifestSchema.pick({ trainerVersion: true });

/** An image may be built from another version than the worker's, and a tag may point to another image today. */
function isOfThisVersion(manifest: string): boolean {
  const { trainerVersion } = trainerSchema.parse(JSON.parse(manifest));
  return trainerVersion === undefined || trainerVersion === projectVersion();
}

/**
 * The adapter that an earlier run trained on the same content, with its manifest in this run's folder. Null where there
 * is none, where its files are not what they were, or where a trainer of another version made it.
 */
export function takeTrained(
  store: ArtifactStore,
  { agent, runId: own }: Pick<RunContext, 'agent' | 'runId'>,
  planned: Pick<PlannedJob, 'key'>,
  key: ReuseKey,
): Promise<TrainedAdapter | null> {
  return takeReusable(store, agent, key, reusableAdapterSchema, async ({ runId, adapter }) => {
    // The run's own training, executed again, has its manifest in the folder of the job.
    if (runId === own) return null;
    const found = await orIfMissing(modelDirectorySha256(store.localPath(adapter.key)), null);
    if (found !== adapter.sha256) return null;
    const text = await store.get(adapter.manifest);
    if (!isOfThisVersion(text.toString('utf8'))) return null;
    const manifest = await store.put(planned.key, 'manifest.json', text, { mediaType: 'application/json' });
    return { ...adapter, manifest, reusedFrom: runId };
  });
}
