import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from '../contracts/project-root';
import { startOf } from '../contracts/clean-text';
import type { CgroupLayer } from './cgroup';
import { EnvironmentProcess } from './environment-process';
import { SandboxError, SandboxUnavailable } from './errors';
import { type LaunchedRuntime, launchRuntime } from './launch';
import { type JailProfile, loadProfile, type LoadedProfile } from './profile';

/** The layers of the jail that work on this machine. */
export interface JailProbe {
  /** Every layer holds. */
  ok: boolean;
  /** The fault of each layer; null if it works. Empty if the jail did not start. */
  layers: Record<string, string | null>;
  /** One sentence for each missing layer, with the remedy. */
  missing: string[];
  /** The control groups that also limit memory and processes; `none` is allowed, because rlimits already limit both. */
  cgroup: CgroupLayer;
}

const NAMESPACES = ['user', 'pid', 'net', 'ipc', 'uts', 'mnt'] as const;
const factsSchema = z.object({
  layers: z.record(z.string(), z.string().max(2_000).nullable()),
  rlimits: z.record(z.string(), z.number()),
});
const passed = new Map<string, Promise<JailProbe>>();

/** The environments that a jail is for: generated ones, or the agent owner's, which share the host's network. */
type JailKind = 'generated' | 'owner';

/**
 * Starts a jail and tests every layer from inside and from the host. If every layer works, the result is cached for
 * this profile as long as the program runs; otherwise the next call tests again. A missing layer is in the result; it
 * is not thrown.
 */
export function probeJail(loaded: LoadedProfile = loadProfile(), kind: JailKind = 'generated'): Promise<JailProbe> {
  const key = JSON.stringify([loaded.folder, loaded.profile, kind, process.env['PATH']]);
  const known = passed.get(key);
  if (known) return known;
  const probing = runProbe(loaded, kind).then((probe) => {
    if (!probe.ok) passed.delete(key);
    return probe;
  });
  passed.set(key, probing);
  probing.catch(() => passed.delete(key));
  return probing;
}

async function runProbe(loaded: LoadedProfile, kind: JailKind): Promise<JailProbe> {
  const source = readFileSync(join(projectRoot(), 'trainer-image', 'whetstone', 'envs', 'jail_probe.py'), 'utf8');
  let launched: LaunchedRuntime;
  try {
    launched = await launchRuntime(loaded, 'jail');
  } catch (error) {
    if (error instanceof SandboxUnavailable) return notStarted(error.missing);
    throw error;
  }
  const environment = new EnvironmentProcess('jail probe', 'jail', launched, loaded.profile);
  try {
    await environment.start(source);
    const facts = factsSchema.parse(await environment.task(kind === 'owner' ? 1 : 0));
    const layers = {
      ...facts.layers,
      limits: looseLimits(loaded.profile, facts.rlimits),
      ...hostLayers(loaded.profile, kind, launched.child.pid!),
    };
    const missing = Object.entries(layers).flatMap(([name, wrong]) =>
      wrong === null ? [] : [`Layer ${name}: ${wrong}.`],
    );
    return { ok: missing.length === 0, layers, missing, cgroup: launched.cgroup };
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const words = `${environment.lastLogLines().stderr} ${error.message}`.trim();
    return notStarted([explainStart(words)]);
  } finally {
    await environment.close();
  }
}

const notStarted = (missing: readonly string[]): JailProbe => ({
  ok: false,
  layers: {},
  missing: [...missing],
  cgroup: 'none',
});

/** Names the limits that are looser than the profile's; null if there are none. */
function looseLimits(profile: JailProfile, found: Record<string, number>): string | null {
  const loose = Object.entries(profile.rlimits).filter(([name, limit]) => {
    const actual = found[name];
    return actual === undefined || actual < 0 || actual > limit;
  });
  return loose.length === 0 ? null : `limits are not in force (${loose.map(([name]) => name).join(', ')})`;
}

/** Checks the properties that only the host can see: the kernel's user id of the jail, and its namespaces. */
function hostLayers(profile: JailProfile, kind: JailKind, pid: number): JailProbe['layers'] {
  try {
    const inner = lastDescendant(pid);
    const uid = Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${inner}/status`, 'utf8'))?.[1]);
    const own = process.getuid?.() ?? 0;
    const expected =
      own === 0 ? uid >= profile.uids.first && uid < profile.uids.first + profile.uids.count : uid === own;
    const shared = NAMESPACES.filter((name) => kind === 'generated' || name !== 'net').filter(
      (name) => readlinkSync(`/proc/${inner}/ns/${name}`) === readlinkSync(`/proc/self/ns/${name}`),
    );
    return {
      'kernel-user': expected ? null : `the kernel runs the jail as user ${uid}`,
      namespaces: shared.length === 0 ? null : `the jail shares namespaces with the host (${shared.join(', ')})`,
    };
  } catch (error) {
    return { namespaces: `the jail's process could not be examined (${(error as Error).message}); mount /proc` };
  }
}

function lastDescendant(pid: number): number {
  for (let current = pid; ;) {
    const child = readFileSync(`/proc/${current}/task/${current}/children`, 'utf8').trim().split(' ')[0];
    if (!child) return current;
    current = Number(child);
  }
}

/** Turns an error message of bubblewrap into a sentence with the remedy. */
function explainStart(words: string): string {
  const last = startOf(words, 600);
  if (/disable-userns|Unknown option/.test(words))
    return `bubblewrap is too old: install 0.8 or newer. It said: ${last}`;
  if (/proc\/sys/.test(words)) {
    return (
      'bubblewrap switches nested user namespaces off by a file in /proc/sys, which is read-only in a ' +
      'container: set WHET_JAIL_PROFILE to sandbox/profile-pod.json, which leaves that out (the seccomp filter ' +
      `refuses nested user namespaces as well). It said: ${last}`
    );
  }
  if (/cannot create .*\/tasks/.test(words)) {
    return (
      `The jail's user cannot enter its control group: open the control groups that this process is in to ` +
      `every user (chmod a+x). It said: ${last}`
    );
  }
  if (/source path|bind mount|execvp/.test(words)) {
    return (
      `The jail's user cannot reach the Python tree: set WHET_JAIL_ROOT to a directory that every user can ` +
      `read, below directories that every user can enter. It said: ${last}`
    );
  }
  if (/namespace|setting up uid map|Operation not permitted|Permission denied|No space left/i.test(words)) {
    return (
      'User namespaces are not available to this user: allow them (sysctl kernel.unprivileged_userns_clone=1, ' +
      'user.max_user_namespaces above 0; on Ubuntu 24.04 also kernel.apparmor_restrict_unprivileged_userns=0 or ' +
      `an AppArmor profile for bwrap; in a container, a seccomp profile that permits unshare). It said: ${last}`
    );
  }
  if (/seccomp/i.test(words))
    return `The seccomp filter cannot be loaded: the kernel needs CONFIG_SECCOMP_FILTER. It said: ${last}`;
  return `The jail did not start. It said: ${last}`;
}
