import type { KeepMembersInput } from '../../contracts/messages/night-stage';
import type { SharpenResult } from '../../contracts/messages/sharpen-stage';
import { MIXED } from '../../contracts/names';
import { type ArtifactStore, layout } from '../../store';
import { adapterRecords } from '../reuse/adapter-records';

/** A kept adapter has no environment in this run. */
const NOTHING_DONE = { attempts: [], environment: null, tokens: [] };

/**
 * Activity: the adapters of the active version whose capabilities this run did not sharpen, as
 * members of its candidate. An adapter whose record is gone or damaged is a skipped member with the reason. Throws
 * StoreMissingError and StoreCorruptError when a manifest is gone.
 */
export async function keepMembers(
  store: ArtifactStore,
  { context: { runId, agent }, version, sharpened, retires = [] }: KeepMembersInput,
): Promise<SharpenResult[]> {
  const wanted = version.adapters.filter(
    ({ capabilityId }) =>
      capabilityId !== MIXED && !sharpened.includes(capabilityId) && !retires.includes(capabilityId),
  );
  if (wanted.length === 0) return [];
  const trained = await adapterRecords(store, agent);
  const members: SharpenResult[] = [];
  for (const { capabilityId, sha256 } of wanted) {
    const record = trained.get(sha256);
    const named = version.capabilities.find(({ id }) => id === capabilityId);
    const capability = named ?? { id: capabilityId, name: capabilityId, summary: '' };
    if (record === undefined || named === undefined) {
      const missing =
        record === undefined
          ? `no record of that training can be read in ${store.localPath(layout.reuse(agent))}`
          : 'it does not say what the capability is';
      const reason =
        `version ${version.version} has its adapter ${sha256.slice(0, 12)}, but ${missing}: ` +
        'it is left out of the candidate';
      members.push({ ...NOTHING_DONE, capability, status: 'skipped', reason, adapter: null });
      continue;
    }
    // The candidate gets its own copy, because the run that trained the adapter may be removed.
    const folder = layout.training(runId, `${capabilityId}-kept`);
    const manifest = await store.put(folder, 'manifest.json', await store.get(record.adapter.manifest), {
      mediaType: 'application/json',
    });
    const reason = `kept from version ${version.version}`;
    const adapter = { ...record.adapter, manifest, reusedFrom: record.runId };
    members.push({ ...NOTHING_DONE, capability, status: 'trained', reason, adapter });
  }
  return members;
}
