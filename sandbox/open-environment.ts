import type { EnvironmentHandle } from './environment-handle';
import { EnvironmentProcess } from './environment-process';
import type { EnvironmentSource, ModuleSource } from './environment-source';
import { isolationFor } from './isolation';
import { launchRuntime } from './launch';
import { ownFolder, readableFolder } from './agent-folder';
import { OwnerProcesses } from './owner-processes';
import { loadProfile, type LoadedProfile, ownerProfile } from './profile';

interface Profiled {
  /** Default: `profilePath()`. */
  profile?: LoadedProfile;
}
/** A module to open. */
export type OpenModuleOptions = ModuleSource & Profiled;
/** An environment to open. */
export type OpenEnvironmentOptions = EnvironmentSource & Profiled;

/**
 * Starts an environment: a module in its jail, or the processes of its owner's command.
 * @throws SandboxUnavailable when code would have to run without a layer of its jail; SandboxError EnvironmentRaised,
 *   BadReturn or CommandRefused for faults of the source, StartFailed or EnvironmentHung when the process did not come
 *   up; Error for a program: each of its episodes has a process of its own.
 */
export function openEnvironment(options: OpenModuleOptions): Promise<EnvironmentProcess>;
export function openEnvironment(options: OpenEnvironmentOptions): Promise<EnvironmentHandle>;
export async function openEnvironment(options: OpenEnvironmentOptions): Promise<EnvironmentHandle> {
  if ('source' in options) return openModule(options);
  if (options.plays === 'process') return OwnerProcesses.open(options, options.profile ?? loadProfile());
  throw new Error(`${options.name}: no process plays the episodes of a program.`);
}

async function openModule(options: OpenModuleOptions): Promise<EnvironmentProcess> {
  const { source, name, profile } = options;
  const given = profile ?? loadProfile();
  const isolation = await isolationFor(options, given);
  const loaded = isolation === 'owner-jail' ? ownerProfile(given) : given;
  const jailed = isolation === 'jail' || isolation === 'owner-jail';
  const folder = isolation === 'owner-jail' ? readableFolder(name) : isolation === 'process' ? ownFolder(name) : null;
  const launched = await launchRuntime(loaded, jailed ? 'jail' : 'process', folder);
  return new EnvironmentProcess(name, isolation, launched, loaded.profile).start(source, options.laterBySeconds);
}
