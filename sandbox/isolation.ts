import type { EnvironmentIsolation } from './environment-process';
import type { ModuleSource } from './environment-source';
import { SandboxUnavailable } from './errors';
import { probeJail } from './probe';
import { type LoadedProfile, ownerProfile } from './profile';

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
 * The isolation that an environment needs on this machine.
 * @throws SandboxUnavailable if a layer of its jail is missing.
 */
export async function isolationFor(
  { trust, name, agent }: Pick<ModuleSource, 'trust' | 'name' | 'agent'>,
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
