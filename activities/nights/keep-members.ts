import { reusableAdapterSchema } from '../../contracts/artifacts/reuse';
import type { KeepMembersInput } from '../../contracts/messages/night-stage';
import type { SharpenResult } from '../../contracts/messages/sharpen-stage';
import { MIXED } from '../../contracts/names';
import { type ArtifactStore, isStoreError, layout } from '../../store';

/**
 * Makes the activity `keepMembers`: the adapters of the active version whose capabilities this run did not sharpen, as
 * members of its candidate. One of which there is no record, because an earlier version of Whetstone trained it, cannot
 * be kept. Throws StoreMissingError and StoreCorruptError for a manifest that is gone.
 */
export function createKeepMembers(store: ArtifactStore): (input: KeepMembersInput) => Promise<SharpenResult[]> {
  return async ({ context: { runId, agent }, version, sharpened }) => {
    const wanted = version.adapters.filter(
      ({ capabilityId }) => capabilityId !== MIXED && !sharpened.includes(capabilityId),
    );
    if (wanted.length === 0) return [];
    const trained = await trainedAdapters(store, agent);
    const members: SharpenResult[] = [];
    for (const { capabilityId, sha256 } of wanted) {
      const record = trained.get(sha256);
      const capability = version.capabilities.find(({ id }) => id === capabilityId);
      if (record === undefined || capability === undefined) continue;
      // A copy of its own: the run that trained it may be removed.
      const folder = layout.training(runId, `${capabilityId}-kept`);
      const manifest = await store.put(folder, 'manifest.json', await store.get(record.adapter.manifest), {
        mediaType: 'application/json',
      });
      const reason = `kept from version ${version.version}`;
      const adapter = { ...record.adapter, manifest, reusedFrom: record.runId };
      members.push({ capability, status: 'trained', reason, attempts: [], environment: null, adapter, tokens: [] });
    }
    return members;
  };
}

async function trainedAdapters(store: ArtifactStore, agent: string) {
  const folder = layout.reuse(agent);
  const found = new Map<string, ReturnType<typeof reusableAdapterSchema.parse>>();
  for (const name of (await store.list(folder)).filter((one) => one.startsWith('adapter-'))) {
    try {
      const record = reusableAdapterSchema.safeParse((await store.readDocument(`${folder}/${name}`))?.value);
      if (record.success) found.set(record.data.adapter.sha256, record.data);
    } catch (error) {
      if (!isStoreError(error) || error.type !== 'Store.Corrupt') throw error;
    }
  }
  return found;
}
