import {
  type Canary,
  type CanaryEnd,
  type Registry,
  registrySchema,
  type RegistryVersion,
} from '../contracts/artifacts/registry';
import type { ArtifactStore } from './artifact-store';
import { changeDocument } from './change-document';
import { layout } from './layout';

/** A change of the registry is impossible, such as activating a missing version. */
export class RegistryError extends Error {
  readonly type = 'Registry.Impossible';
}

/** A registry after a change; `changed: false` if there was nothing to do. */
export interface Transition<T = number | null> {
  registry: Registry;
  changed: boolean;
  /** The result of the change: normally a version number, or null for the base model alone. */
  result: T;
}

/** The registry of an agent without versions, which serves its base model. */
export const emptyRegistry = (agent: string): Registry => ({ agent, active: null, versions: [] });

/**
 * Adds a version with the next number and activates it. A run adds at most one version. If the run's version already
 * exists, nothing changes. Even `active` stays, because somebody may have rolled back since. Pure.
 */
export function addVersion(
  registry: Registry,
  version: Omit<RegistryVersion, 'version' | 'replaced'>,
): Transition<number> {
  const existing = registry.versions.find((v) => v.runId === version.runId);
  if (existing) return { registry, changed: false, result: existing.version };
  const number = Math.max(0, ...registry.versions.map((v) => v.version)) + 1;
  const without = withoutCanary(registry, 'superseded', version.createdAt, `Version ${number} was promoted.`);
  const added = { ...version, version: number, replaced: registry.active };
  return {
    registry: { ...without, active: number, versions: [...registry.versions, added] },
    changed: true,
    result: number,
  };
}

/**
 * Activates a version, or the base model alone for null, and ends the canary. Pure. Throws RegistryError for a number
 * that the registry does not have.
 */
export function activateVersion(registry: Registry, version: number | null): Transition {
  requireVersion(registry, version);
  const outcome = registry.canary?.version === version ? 'promoted' : 'superseded';
  const reason = version === null ? 'The base model was activated.' : `Version ${version} was activated.`;
  const without = withoutCanary(registry, outcome, new Date().toISOString(), reason);
  return {
    registry: { ...without, active: version },
    changed: registry.active !== version || registry.canary !== undefined,
    result: version,
  };
}

function requireVersion(registry: Registry, version: number | null): void {
  if (version === null || registry.versions.some((v) => v.version === version)) return;
  const there = registry.versions.map((v) => v.version).join(', ') || 'none';
  throw new RegistryError(`Agent ${registry.agent} has no version ${version} in its registry (versions: ${there}).`);
}

function withoutCanary(registry: Registry, outcome: CanaryEnd['outcome'], endedAt: string, reason: string): Registry {
  const { canary, ...rest } = registry;
  return canary === undefined
    ? rest
    : { ...rest, lastCanary: { id: canary.id, version: canary.version, outcome, endedAt, reason } };
}

/**
 * Starts a canary, which gives a version a share of the conversations, and ends the previous one. Pure. Throws
 * RegistryError if the version does not exist or is active.
 */
export function startCanary(registry: Registry, canary: Canary): Transition<Canary> {
  requireVersion(registry, canary.version);
  if (registry.active === canary.version)
    throw new RegistryError(`Version ${canary.version} of ${registry.agent} gets all conversations already.`);
  const without = withoutCanary(
    registry,
    'superseded',
    canary.startedAt,
    `A canary of version ${canary.version} was started.`,
  );
  return { registry: { ...without, canary }, changed: true, result: canary };
}

/**
 * Ends the canary, so that all conversations go to the active version. With `id`, only the canary with that id is
 * ended, so that a late verdict cannot end its successor. Pure. Without `id`, it throws RegistryError if there is no
 * canary.
 */
export function endCanary(registry: Registry, outcome: CanaryEnd['outcome'], reason: string, id?: string): Transition {
  if (registry.canary === undefined || (id !== undefined && registry.canary.id !== id)) {
    if (id !== undefined) return { registry, changed: false, result: registry.active };
    throw new RegistryError(`Agent ${registry.agent} has no canary.`);
  }
  return {
    registry: withoutCanary(registry, outcome, new Date().toISOString(), reason),
    changed: true,
    result: registry.active,
  };
}

/**
 * Undoes the newest change. If there is a canary, it ends the canary. Otherwise it activates the version with the next
 * lower number. After the version with the lowest number, it activates the base model alone. Pure. Throws RegistryError
 * if the base model is already active.
 */
export function rollbackVersion(registry: Registry): Transition {
  if (registry.canary !== undefined) return endCanary(registry, 'rolled-back', 'Rolled back by hand.');
  const { active } = registry;
  if (active === null)
    throw new RegistryError(`Agent ${registry.agent} serves its base model already: there is nothing to roll back.`);
  const lower = registry.versions.map((v) => v.version).filter((v) => v < active);
  return activateVersion(registry, lower.length === 0 ? null : Math.max(...lower));
}

/**
 * Reads the agent's registry; an empty one if there is no document. Throws ZodError for a document that is not a
 * registry.
 */
export async function readRegistry(store: ArtifactStore, agent: string): Promise<Registry> {
  return parseRegistry(agent, (await store.readDocument(layout.registry(agent)))?.value);
}

/**
 * Applies a pure change to the agent's registry by compare-and-swap (see `changeDocument`). If the change has no
 * effect, nothing is written. Throws StoreConflictError if others were faster every time, and any error of `change`.
 */
export function changeRegistry<T>(
  store: ArtifactStore,
  agent: string,
  change: (registry: Registry) => Transition<T>,
): Promise<Transition<T>> {
  return changeDocument(store, layout.registry(agent), (stored) => {
    const transition = change(parseRegistry(agent, stored));
    return transition.changed
      ? { value: registrySchema.parse(transition.registry), result: transition }
      : { result: transition };
  });
}

function parseRegistry(agent: string, stored: unknown): Registry {
  return stored === undefined ? emptyRegistry(agent) : registrySchema.parse(stored);
}

/**
 * Removes versions from the registry. The active version, the canary's and the newest one always stay, whatever
 * `isKept` says, because the newest determines the next version's number. Pure. The result lists the removed numbers.
 */
export function pruneVersions(registry: Registry, isKept: (version: RegistryVersion) => boolean): Transition<number[]> {
  const newest = Math.max(0, ...registry.versions.map((v) => v.version));
  const needed = new Set([registry.active, registry.canary?.version, newest]);
  const versions = registry.versions.filter((v) => needed.has(v.version) || isKept(v));
  const removed = registry.versions.filter((v) => !versions.includes(v)).map((v) => v.version);
  return { registry: { ...registry, versions }, changed: removed.length > 0, result: removed };
}
