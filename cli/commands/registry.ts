import {
  activateVersion,
  changeRegistry,
  layout,
  LocalStore,
  readRegistry,
  RegistryError,
  rollbackVersion,
  type Transition,
} from '../../store';
import type { Registry } from '../../contracts/artifacts/registry';
import type { Context } from '../context';
import { readDamageable } from '../documents';
import { CliError } from '../errors';

/** `whet promote AGENT VERSION`: makes a version the active one. */
export function promoteCommand(context: Context, agent: string, version: number): Promise<void> {
  return change(context, agent, (registry) => activateVersion(registry, version));
}

/** `whet rollback AGENT`: ends the canary if there is one, else reactivates the previous version. */
export function rollbackCommand(context: Context, agent: string): Promise<void> {
  return change(context, agent, rollbackVersion);
}

async function change(context: Context, agent: string, transition: (registry: Registry) => Transition): Promise<void> {
  const store = new LocalStore(context.settings.storeRoot);
  const before = await readAgentRegistry(store, agent);
  requireVersions(context, agent, before);
  const { result, registry } = await changeOrRefuse(store, agent, transition);
  const ended =
    before.canary !== undefined && registry.canary === undefined
      ? `; the canary of version ${before.canary.version} has ended`
      : '';
  context.out.result(
    { agent, before: before.active, active: result, ...(ended === '' ? {} : { endedCanary: before.canary?.version }) },
    `${agent}: ${servedName(result)} is active now (before: ${servedName(before.active)})${ended}`,
  );
}

/** The name of the served system of an agent: its active version, or the base model alone (null). */
export const servedName = (version: number | null): string =>
  version === null ? 'the base model alone' : `version ${version}`;

const REGISTRY_REMEDY =
  'Restore it from a backup. Without one move it away: the agent is then served by its base model until a run ' +
  'promotes again.';

/** Reads the registry of an agent. @throws CliError if its file is damaged. */
export const readAgentRegistry = (store: LocalStore, agent: string): Promise<Registry> =>
  readDamageable(store.localPath(layout.registry(agent)), REGISTRY_REMEDY, () => readRegistry(store, agent));

/** Checks that an agent has a version. @throws CliError (exit 2) if nothing was ever promoted for it. */
export function requireVersions({ settings }: Context, agent: string, { versions }: Registry): void {
  if (versions.length > 0) return;
  throw new CliError(
    `${agent} has no version in ${settings.storeRoot}: no run has promoted anything yet, ` +
      'or WHET_HOME or WHET_STORE points elsewhere.',
    {
      type: 'Registry.Missing',
    },
  );
}

/** Changes the registry of an agent. @throws CliError (exit 2) if the registry does not allow the change. */
export async function changeOrRefuse<T>(
  store: LocalStore,
  agent: string,
  transition: (registry: Registry) => Transition<T>,
): Promise<Transition<T>> {
  try {
    return await readDamageable(store.localPath(layout.registry(agent)), REGISTRY_REMEDY, () =>
      changeRegistry(store, agent, transition),
    );
  } catch (error) {
    if (error instanceof RegistryError) throw new CliError(error.message, { type: error.type, cause: error });
    throw error;
  }
}
