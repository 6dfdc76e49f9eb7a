import type { z } from 'zod';
import { reusableAdapterSchema } from '../../contracts/artifacts/reuse';
import type { ArtifactStore } from '../../store';
import { reusableRecords } from './reuse-records';

/** An adapter that a run has trained, according to its record. */
export type AdapterRecord = z.infer<typeof reusableAdapterSchema>;

/** The adapters that an agent's runs have trained, keyed by their hash. A record that cannot be read is ignored. */
export async function adapterRecords(store: ArtifactStore, agent: string): Promise<Map<string, AdapterRecord>> {
  const records = await reusableRecords(store, agent, 'adapter', reusableAdapterSchema);
  return new Map(records.map((record) => [record.adapter.sha256, record]));
}
