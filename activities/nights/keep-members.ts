import type { KeepMembersInput } from '../../contracts/messages/night-stage';
import type { SharpenResult } from '../../contracts/messages/sharpen-stage';
import { MIXED } from '../../contracts/names';
import { type ArtifactStore, layout } from '../../store';
import { adapterRecords } from '../reuse/adapter-records';

/**
 * Makes the activity `keepMembers`: the adapters of the active version whose capabilities this run did not sharpen, as
 * members of its candidate. One of which there is no record, because an earlier version of Whetstone trained it, cannot
 * be kept. Throws StoreMissingError and StoreCorruptError for a manifest that is gone.
 */
export function createKeepMembers(store: ArtifactStore): (input: KeepMembersInput) => Promise<SharpenResult[]> {
  return async ({ context: { runId, agent }, version, sharpened, retires = [] }) => {
    const wanted = version.adapters.filter(
      ({ capabilityId }) =>
        capabilityId !== MIXED && !sharpened.includes(capabilityId) && !retires.includes(capabilityId),
    );
    if (wanted.length === 0) return [];
    const trained = await adapterRecords(store, agent);
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
