import { type Registry, registrySchema } from '../../contracts';
import { layout, LocalStore, StoreConflictError } from '../../store';
import type { Context } from '../context';
import { CliError } from '../errors';

/** Attempts against others who change the document at the same time. */
const TRIES = 5;

/** The registry with a version made the active one. @throws CliError (exit 2) when there is no such version. */
export function activate(registry: Registry, version: number): Registry {
  const versions = registry.versions.map((v) => v.version);
  if (!versions.includes(version)) {
    throw new CliError(`${registry.agent} has no version ${version}. It has: ${versions.join(', ') || 'none'}.`, { exitCode: 2, type: 'Registry.NoVersion' });
  }
  return { ...registry, active: version };
}

/** The registry with the version before the active one made active; before the first comes the base model alone (null). */
export function rollBack(registry: Registry): Registry {
  const { active } = registry;
  if (active === null)
    throw new CliError(`${registry.agent} serves the base model alone, so there is nothing to go back from.`, { exitCode: 2, type: 'Registry.AtBase' });
  const earlier = registry.versions.map((v) => v.version).filter((version) => version < active);
  return { ...registry, active: earlier.length === 0 ? null : Math.max(...earlier) };
}

/** `whet promote AGENT VERSION` */
export function promoteCommand(context: Context, agent: string, version: number): Promise<void> {
  return change(context, agent, (registry) => activate(registry, version));
}

/** `whet rollback AGENT` */
export function rollbackCommand(context: Context, agent: string): Promise<void> {
  return change(context, agent, rollBack);
}

async function change({ settings, out }: Context, agent: string, transition: (registry: Registry) => Registry): Promise<void> {
  const store = new LocalStore(settings.storeRoot);
  const key = layout.registry(agent);
  for (let attempt = 1; ; attempt++) {
    const document = await store.readDocument(key);
    if (document === null) {
      throw new CliError(`${agent} has no registry in ${settings.storeRoot}: no run has promoted anything yet, or WHET_HOME or WHET_STORE points elsewhere.`, {
        exitCode: 2,
        type: 'Registry.Missing',
      });
    }
    const before = registrySchema.parse(document.value);
    const after = transition(before);
    try {
      await store.swapDocument(key, after, document.etag);
    } catch (error) {
      if (error instanceof StoreConflictError && attempt < TRIES) continue;
      throw error;
    }
    const name = (version: number | null) => (version === null ? 'the base model alone' : `version ${version}`);
    out.result({ agent, before: before.active, active: after.active }, `${agent}: ${name(after.active)} is active now (before: ${name(before.active)})`);
    return;
  }
}
