import { type EnvironmentIsolation, EnvironmentProcess } from './environment-process';
import { SandboxUnavailable } from './errors';
import { launchRuntime } from './launch';
import { loadProfile, type LoadedProfile } from './profile';
import { probeJail } from './probe';

/** The environment to open. */
export interface OpenEnvironmentOptions {
  /** The module's source, at most about 1 MB. */
  source: string;
  /**
   * `synthesised`: written by an LLM, so it runs in the jail. `owner`: the user's own, so it runs in a plain process.
   */
  trust: 'synthesised' | 'owner';
  /** Used in messages. */
  name: string;
  /** Default: `profilePath()`. */
  profile?: LoadedProfile;
}

/**
 * Whether the user switched the jail off with WHET_SANDBOX=unsafe. Values other than `unsafe` and `jail` are refused.
 * In a pod, `unsafe` is refused as well: it is meant for laptops, and a pod holds a service token and sees the
 * cluster's network.
 * @param setting default: WHET_SANDBOX.
 * @param isInKubernetes default: whether the cluster's address is in the environment, as it is in every pod.
 * @throws SandboxUnavailable naming the allowed values, or what to do.
 */
export function isUnsafeAllowed(
  setting: string | undefined = process.env['WHET_SANDBOX'],
  isInKubernetes: boolean = Boolean(process.env['KUBERNETES_SERVICE_HOST']),
): boolean {
  if (setting === undefined || setting === '' || setting === 'jail') return false;
  if (setting === 'unsafe') {
    if (!isInKubernetes) return true;
    throw new SandboxUnavailable([
      'WHET_SANDBOX=unsafe is refused on Kubernetes: unset it, and give the pods what the jail needs ' +
        '(docs/sandbox.md).',
    ]);
  }
  throw new SandboxUnavailable([
    `WHET_SANDBOX is ${JSON.stringify(setting)}; it may be "jail" (the default) or "unsafe".`,
  ]);
}

/**
 * Starts a process for an environment and loads it.
 * @throws SandboxUnavailable when generated code would have to run without a layer of the jail; EnvironmentRaised or
 *   BadReturn for faults of the source; EnvironmentStartFailed, EnvironmentHung when the process did not come up.
 */
export async function openEnvironment({
  source,
  trust,
  name,
  profile,
}: OpenEnvironmentOptions): Promise<EnvironmentProcess> {
  const loaded = profile ?? loadProfile();
  const isolation = await isolationFor(trust, loaded);
  const launched = await launchRuntime(loaded, isolation === 'jail' ? 'jail' : 'process');
  return new EnvironmentProcess(name, '', isolation, launched, loaded.profile).start(source);
}

/**
 * How an environment must be isolated on this machine.
 * @throws SandboxUnavailable when a layer of the jail that it needs is missing.
 */
export async function isolationFor(
  trust: OpenEnvironmentOptions['trust'],
  loaded: LoadedProfile,
): Promise<EnvironmentIsolation> {
  if (trust === 'owner') return 'process';
  if (isUnsafeAllowed()) return 'unsafe';
  const probe = await probeJail(loaded);
  if (!probe.ok) throw new SandboxUnavailable(probe.missing);
  return 'jail';
}
