import { existsSync } from 'node:fs';
import { type ArtifactStore, layout } from '../../store';
import type { ServedAgent } from './served-agent';
import type { WantedAdapter } from '../upstream/adapter-reconciler';

/**
 * Adapters that an agent's model servers should have now: those of the versions that are served, then the adapters that
 * are merged from these.
 */
export function wantedAdapters(agent: ServedAgent, store: ArtifactStore): WantedAdapter[] {
  const single = agent.wantedVersions().flatMap(({ adapters }) => adapters);
  const merges = agent.mergedAdapters
    .madeOf(new Set(single.map(({ name }) => name)))
    .map(({ name, parts }): WantedAdapter => {
      // vLLM cannot merge. For it, an adapter that was merged beforehand with PEFT may lie in the store under this
      // name.
      const premerged = store.localPath(`${layout.adapters(agent.settings.name)}/${name.replace('@', '-')}`);
      return { name, path: existsSync(premerged) ? premerged : null, parts };
    });
  return [...single.map(({ name, key }) => ({ name, path: store.localPath(key) })), ...merges];
}

/** Names of all adapters that belong to an agent, wanted or not. The reconciler unloads no others. */
export function knownAdapters(agent: ServedAgent): string[] {
  return [
    ...agent.registry.versions.flatMap(({ adapters }) => adapters.map(({ name }) => name)),
    ...agent.mergedAdapters.everWanted,
  ];
}
