import type { ArtifactStore } from '../../store';
import type { ServedAgent } from './served-agent';
import type { WantedAdapter } from '../upstream/adapter-reconciler';

/** Adapters that an agent's model servers should have now: those of the versions that are served. */
export function wantedAdapters(agent: ServedAgent, store: ArtifactStore): WantedAdapter[] {
  return agent
    .wantedVersions()
    .flatMap(({ adapters }) => adapters.map(({ name, key }) => ({ name, path: store.localPath(key) })));
}

/** Names of all adapters that belong to an agent, wanted or not. The reconciler unloads no others. */
export function knownAdapters(agent: ServedAgent): string[] {
  return agent.registry.versions.flatMap(({ adapters }) => adapters.map(({ name }) => name));
}
