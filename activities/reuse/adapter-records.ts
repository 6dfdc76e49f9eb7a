import type { z } from 'zod';
import { reusableAdapterSchema } from '../../contracts/artifacts/reuse';
import { type ArtifactStore, isStoreError, layout } from '../../store';

/** An adapter that a run has trained, as its record says. */
export type AdapterRecord = z.infer<typeof reusableAdapterSchema>;

/** The adapters that an agent's runs have trained, by their hash. A record that cannot be read counts as none. */
export async function adapterRecords(store: ArtifactStore, agent: string): Promise<Map<string, AdapterRecord>> {
  const folder = layout.reuse(agent);
  const found = new Map<string, AdapterRecord>();
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
