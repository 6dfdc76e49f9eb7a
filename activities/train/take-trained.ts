import { reusableAdapterSchema } from '../../contracts/artifacts/reuse';
import { type TrainedAdapter, trainingManifestSchema } from '../../contracts/artifacts/training';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { projectVersion } from '../../contracts/project-version';
import { type ArtifactStore, orIfMissing, readRegistry } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import { activeVersion } from '../active-version';
import { adapterRecords } from '../reuse/adapter-records';
import { goesOnWith, type ReuseKey } from '../reuse/content-keys';
import { takeReusable } from '../reuse/reuse-records';
import type { PlannedJob } from './training-job';

const trainerSchema = trainingManifestSchema.pick({ trainerVersion: true });

/** An image may be built from another version than the worker's, and a tag may point to another image today. */
function isOfThisVersion(manifest: string): boolean {
  const { trainerVersion } = trainerSchema.parse(JSON.parse(manifest));
  return trainerVersion === projectVersion();
}

/**
 * Sha256 of the adapter that a training continues: the input's adapter, if these inputs were trained before. Other
 * inputs give another adapter anyway, and their training begins from the served adapter.
 */
export async function continuedAdapter(
  store: ArtifactStore,
  { spec }: Pick<PreparedSpec, 'spec'>,
  { context, continues }: Pick<TrainInput, 'context' | 'continues'>,
  key: ReuseKey,
): Promise<string | undefined> {
  if (continues === undefined || !spec.training.warmStart) return undefined;
  const trainedIn = await takeReusable(store, context.agent, key, reusableAdapterSchema, async ({ runId }) => runId);
  // The run's own training, executed again, found no earlier adapter the first time.
  return trainedIn === null || trainedIn === context.runId ? undefined : continues;
}

/**
 * The record of a capability's served adapter, if its training continued with the inputs of the key. In that case these
 * inputs were trained further than the record of the key says. Null otherwise.
 */
async function servedRecord(
  store: ArtifactStore,
  prepared: PreparedSpec,
  agent: string,
  { key, name }: { key: ReuseKey; name: string },
) {
  const version = activeVersion(await readRegistry(store, agent), prepared);
  if (typeof version === 'string') return null;
  const served = version.adapters.find(({ capabilityId }) => capabilityId === name);
  const record = served && (await adapterRecords(store, agent)).get(served.sha256);
  return record !== undefined && goesOnWith(key, record.dependsOn) ? record : null;
}

/**
 * The adapter that an earlier run trained with the same inputs, with its manifest copied into this run's folder. Null
 * if there is none, if its files have changed, or if a trainer of another version made it. If the served adapter was
 * trained further with these inputs, it is the result.
 */
export function takeTrained(
  store: ArtifactStore,
  prepared: PreparedSpec,
  { context: { agent, runId: own }, job: name }: Pick<TrainInput, 'context' | 'job'>,
  planned: Pick<PlannedJob, 'key'>,
  key: ReuseKey,
): Promise<TrainedAdapter | null> {
  return takeReusable(store, agent, key, reusableAdapterSchema, async (first) => {
    // The run's own training, executed again, has its manifest in the folder of the job.
    if (first.runId === own) return null;
    const further = await servedRecord(store, prepared, agent, { key, name });
    const { runId, adapter } = further !== null && further.runId !== own ? further : first;
    const found = await orIfMissing(modelDirectorySha256(store.localPath(adapter.key)), null);
    if (found !== adapter.sha256) return null;
    const text = await store.get(adapter.manifest);
    if (!isOfThisVersion(text.toString('utf8'))) return null;
    const manifest = await store.put(planned.key, 'manifest.json', text, { mediaType: 'application/json' });
    return { ...adapter, manifest, reusedFrom: runId };
  });
}
