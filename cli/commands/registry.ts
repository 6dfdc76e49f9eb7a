import { activateVersion, changeRegistry, LocalStore, readRegistry, RegistryError, rollbackVersion, type Transition } from '../../store';
import type { Registry } from '../../contracts';
import type { Context } from '../context';
import { CliError } from '../errors';

/** `whet promote AGENT VERSION` */
export function promoteCommand(context: Context, agent: string, version: number): Promise<void> {
  return change(context, agent, (registry) => activateVersion(registry, version));
}

/** `whet rollback AGENT` */
export function rollbackCommand(context: Context, agent: string): Promise<void> {
  return change(context, agent, rollbackVersion);
}

async function change({ settings, out }: Context, agent: string, transition: (registry: Registry) => Transition): Promise<void> {
  const store = new LocalStore(settings.storeRoot);
  const before = await readRegistry(store, agent);
  if (before.versions.length === 0) {
    throw new CliError(`${agent} has no version in ${settings.storeRoot}: no run has promoted anything yet, or WHET_HOME or WHET_STORE points elsewhere.`, {
      exitCode: 2,
      type: 'Registry.Missing',
    });
  }
  try {
    const { result } = await changeRegistry(store, agent, transition);
    const name = (version: number | null) => (version === null ? 'the base model alone' : `version ${version}`);
    out.result({ agent, before: before.active, active: result }, `${agent}: ${name(result)} is active now (before: ${name(before.active)})`);
  } catch (error) {
    if (error instanceof RegistryError) throw new CliError(error.message, { exitCode: 2, type: error.type, cause: error });
    throw error;
  }
}
