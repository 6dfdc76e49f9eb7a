import { z } from 'zod';
import { type ArtifactStore, isStoreError, layout } from '../../store';

/** What earlier runs of an agent made, by whether it is for this base model. */
export interface ReusableCounts {
  /** Environments do not depend on a model. */
  environments: number;
  calibrations: { same: number; other: number };
  adapters: { same: number; other: number };
}

const recordSchema = z.object({ dependsOn: z.object({ baseModel: z.string() }) });

/** Counts the records of `reuse/<agent>/`. One that cannot be read counts nowhere. */
export async function countReusable(store: ArtifactStore, agent: string, baseModel: string): Promise<ReusableCounts> {
  const counts: ReusableCounts = {
    environments: 0,
    calibrations: { same: 0, other: 0 },
    adapters: { same: 0, other: 0 },
  };
  const folder = layout.reuse(agent);
  for (const name of await store.list(folder)) {
    if (name.startsWith('environment-')) counts.environments++;
    const kind = name.startsWith('calibration-') ? 'calibrations' : name.startsWith('adapter-') ? 'adapters' : null;
    const made = kind === null ? null : await madeFor(store, `${folder}/${name}`);
    if (kind !== null && made !== null) counts[kind][made === baseModel ? 'same' : 'other']++;
  }
  return counts;
}

async function madeFor(store: ArtifactStore, key: string): Promise<string | null> {
  try {
    const record = recordSchema.safeParse((await store.readDocument(key))?.value);
    return record.success ? record.data.dependsOn.baseModel : null;
  } catch (error) {
    if (isStoreError(error) && error.type === 'Store.Corrupt') return null;
    throw error;
  }
}
