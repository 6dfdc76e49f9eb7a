import { existsSync } from 'node:fs';
import { type ArtifactStore, layout } from '../../store';
import type { ServedAgent } from './served-agent';
import type { WantedAdapter } from '../upstream/adapter-reconciler';

/**
 * Adapters that an agent needs at its model servers now: those of its served versions, then the merges made of them.
 */
export function wantedAdapters(agent: ServedAgent, store: ArtifactStore): WantedAdapter[] {
  const single = agent.wantedVersions().flatMap(({ adapters }) => adapters);
  const merges = agent.mergedAdapters
    .of(new Set(single.map(({ name }) => name)))
    .map(({ name, parts }): WantedAdapter => {
      // For servers that cannot merge (vLLM), a merge made beforehand with PEFT may lie in the store under the merge's
      // name.
      const made = store.localPath(`${layout.adapters(agent.settings.name)}/${name.replace('@', '-')}`);
      return { name, path: existsSync(made) ? made : null, parts };
    });
  return [...single.map(({ name, key }) => ({ name, path: store.localPath(key) })), ...merges];
}

/** Every name that is this agent's business, wanted or not: what the reconciler may unload. */
export function knownAdapters(agent: ServedAgent): string[] {
  return [
    ...agent.registry.versions.flatMap(({ adapters }) => adapters.map(({ name }) => name)),
    ...agent.mergedAdapters.everWanted,
  ];
}
