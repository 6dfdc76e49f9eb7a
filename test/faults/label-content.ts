import { createHash } from 'node:crypto';
import { labelSegments, readLabels } from '../helpers/label-segments';
import type { ArtifactStore } from '../../store';

/**
 * sha256 over an agent's labels, in the order of their keys: what was found, whoever found it when. Of several records
 * with one key the labelled one counts.
 */
export async function labelsOf(store: ArtifactStore, agent: string): Promise<string> {
  const labels = new Map<string, string>();
  for (const segment of await labelSegments(store, agent)) {
    for (const { label } of await readLabels(store, segment)) {
      if (!labels.has(label.key) || label.label !== null)
        labels.set(label.key, `${label.trajectoryId} ${label.capabilityId} ${label.label} ${label.step}`);
    }
  }
  const hash = createHash('sha256');
  for (const key of [...labels.keys()].sort()) hash.update(`${key} ${labels.get(key)}\n`);
  return hash.digest('hex');
}
