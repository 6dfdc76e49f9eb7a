import { storedLabelSchema, type StoredLabel } from '../../activities/identify/labelling/label-cache';
import { type ArtifactStore, layout, readSegment } from '../../store';

/** Keys of all label segments of an agent, from one improvement run or from all. */
export async function labelSegments(store: ArtifactStore, agent: string, runId?: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.listAll(layout.labelsCache(agent)))
    if (/\/sets\/[^/]+\/[^/]+\.jsonl$/.test(key)) keys.push(key);
  return keys.filter((key) => runId === undefined || key.endsWith(`/${runId}.jsonl`)).sort();
}

/** Labels of a segment, in the order in which they were written. Damaged lines are left out. */
export const readLabels = async (store: ArtifactStore, segment: string): Promise<StoredLabel[]> =>
  (await readSegment(store.segment(segment), storedLabelSchema)).values;
