import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { CapabilityBrief } from '../../../contracts/messages/run-context';
import { type ArtifactStore, layout, putJson } from '../../../store';

/** Stores a router that takes the likeliest label of the menu. */
export const logitsRouter = (store: ArtifactStore, capabilities: readonly CapabilityBrief[]): Promise<ArtifactRef> =>
  putJson(store, layout.evaluation('run-1'), 'router.json', {
    kind: 'logits',
    leftOut: [],
    capabilities: capabilities.map(({ id, summary }) => ({ id, summary })),
    temperature: 1,
    threshold: 0,
  });
