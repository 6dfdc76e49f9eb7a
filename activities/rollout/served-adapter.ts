import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type { ArtifactStore } from '../../store';

/** An adapter as the policy server loads it. */
export interface ServedAdapter {
  name: string;
  /** Absolute directory in PEFT format. */
  path: string;
}

/** Names trained adapters and their directories in the store as the policy server needs them. */
export function servedAdapters(store: ArtifactStore, adapters: readonly TrainedAdapter[]): ServedAdapter[] {
  return adapters.map(({ name, key }) => ({ name, path: store.localPath(key) }));
}
