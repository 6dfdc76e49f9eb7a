import { type EnvironmentIsolation, EnvironmentProcess } from './environment-process';
import { SandboxUnavailable } from './errors';
import { launchRuntime } from './launch';
import { ownFolder, readableFolder } from './agent-folder';
import { loadProfile, type LoadedProfile, ownerProfile } from './profile';
import { probeJail } from './probe';

/** The environment to open. */
export interface OpenEnvironmentOptions {
  /** The module's source, at most about 1 MB. */
  source: string;
  /**
   * `synthesised`: written by an LLM, so it runs in the jail. `owner`: the user's own, so it runs in a jail with
   * network access.
   */
  trust: 'synthesised' | 'owner';
  /** Used in messages. For `owner` it is the path of the module, whose folder is readable in the jail. */
  name: string;
  /** The owner's agent, which WHET_UNJAILED_ENVIRONMENTS may name. */
  agent?: string;
  /** Seconds by which the module's clock is ahead, for checks of whether it reads one. Default: 0. */
  laterBySeconds?: number;
  /** Default: `profilePath()`. */
  profile?: LoadedProfile;
}

/** Whether this process runs in a pod: every pod has the cluster's address in its environment. */
export const isInKubernetes = (): boolean => Boolean(process.env['KUBERNETES_SERVICE_HOST']);

/**
 * Whether the user switched the jail off with WHET_SANDBOX=unsafe. Values other than `unsafe` and `jail` are refused.
 * In a pod, `unsafe` is refused as well: it is meant for laptops, but a pod holds a service token and sees the
 * cluster's network.
 * @param setting default: WHET_SANDBOX.
 * @param onKubernetes whether generated code would run in a pod. Default: whether this process does.
 * @throws SandboxUnavailable, which names the allowed values or the remedy.
 */
export function isUnsafeAllowed(
  setting: string | undefined = process.env['WHET_SANDBOX'],
  onKubernetes: boolean = isInKubernetes(),
): boolean {
  if (setting === undefined || setting === '' || setting === 'jail') return false;
  if (setting === 'unsafe') {
    if (!onKubernetes) return true;
    throw new SandboxUnavailable([
      'WHET_SANDBOX=unsafe is refused on Kubernetes, for workers and trainers: unset it, and give the pods what the ' +
        'jail needs (docs/explanations/sandbox.md).',
    ]);
  }
  throw new SandboxUnavailable([
    `WHET_SANDBOX is ${JSON.stringify(setting)}; it may be "jail" (the default) or "unsafe".`,
  ]);
}

/**
 * Starts a process for an environment and loads it.
 * @throws SandboxUnavailable when generated code would have to run without a layer of the jail; SandboxError
 *   EnvironmentRaised or BadReturn for faults of the source, StartFailed or EnvironmentHung when the process did not
 *   come up.
 */
export async function openEnvironment(options: OpenEnvironmentOptions): Promise<EnvironmentProcess> {
  const { source, name, profile } = options;
  const given = profile ?? loadProfile();
  const isolation = await isolationFor(options, given);
  const loaded = isolation === 'owner-jail' ? ownerProfile(given) : given;
  const jailed = isolation === 'jail' || isolation === 'owner-jail';
  const folder = isolation === 'owner-jail' ? readableFolder(name) : isolation === 'process' ? ownFolder(name) : null;
  const launched = await launchRuntime(loaded, jailed ? 'jail' : 'process', folder);
  return new EnvironmentProcess(name, isolation, launched, loaded.profile).start(source, options.laterBySeconds);
}

/**
 * The isolation that an environment needs on this machine.
 * @throws SandboxUnavailable if a layer of its jail is missing.
 */
export async function isolationFor(
  { trust, name, agent }: Pick<OpenEnvironmentOptions, 'trust' | 'name' | 'agent'>,
  loaded: LoadedProfile,
): Promise<EnvironmentIsolation> {
  if (trust === 'owner') return ownerIsolation(name, agent, loaded);
  if (isUnsafeAllowed()) return 'unsafe';
  const probe = await probeJail(loaded);
  if (!probe.ok) throw new SandboxUnavailable(probe.missing);
  return 'jail';
}

async function ownerIsolation(
  path: string,
  agent: string | undefined,
  loaded: LoadedProfile,
): Promise<EnvironmentIsolation> {
  const allowed = (process.env['WHET_UNJAILED_ENVIRONMENTS'] ?? '').split(',').map((entry) => entry.trim());
  if (allowed.includes(path) || (agent !== undefined && allowed.includes(agent)) || isUnsafeAllowed()) return 'process';
  const probe = await probeJail(ownerProfile(loaded), 'owner');
  if (probe.ok) return 'owner-jail';
  const remedy =
    `To run it as a plain process of this user, which can read the worker's keys and files, set ` +
    `WHET_UNJAILED_ENVIRONMENTS=${agent ?? path} where the worker runs.`;
  throw new SandboxUnavailable([...probe.missing, remedy], `the environment ${path} is not run`);
}
