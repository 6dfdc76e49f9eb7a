import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from '../contracts/project-root';
import { SandboxUnavailable } from './errors';

/** bubblewrap's own switch against nested user namespaces. */
const NO_NESTED_NAMESPACES = '--disable-userns';
const count = z.number().int().nonnegative();

/**
 * `sandbox/profile.json`: the only description of the jail, which this launcher and the trainer's launcher in Python
 * read.
 */
const jailProfileSchema = z.strictObject({
  version: z.literal(1),
  /**
   * bubblewrap's arguments, grouped for readers. `${PYTHON_ROOT}` means the copied Python tree, `${AGENT_FOLDER}` the
   * folder that an owner's environment may read. A group whose value is missing is left out.
   */
  bubblewrap: z.array(z.array(z.string())),
  /** The command that runs inside; `${RUNTIME}` and `${THREADS}` are filled in. */
  command: z.array(z.string()).min(1),
  /** Path of the runtime inside the jail. */
  runtimeInJail: z.string(),
  /** Kernel user ids for jails that root starts: one for each, because RLIMIT_NPROC counts by user. */
  uids: z.strictObject({ first: count, count: count.min(1) }),
  /** Limits of the process inside. `threads` is set inside the user namespace, the other limits before it. */
  rlimits: z.strictObject({
    addressSpaceBytes: count,
    coreBytes: count,
    cpuSeconds: count,
    fileSizeBytes: count,
    lockedMemoryBytes: count,
    messageQueueBytes: count,
    openFiles: count,
    pendingSignals: count,
    stackBytes: count,
    threads: count,
  }),
  /**
   * Limits of the jail's control group, if one can be made: memory and processes, which rlimits also limit, and
   * processor time (100 percent is one core).
   */
  cgroup: z.strictObject({ memoryBytes: count, processes: count, cpuPercent: count.min(1) }),
  seccomp: z.record(z.string(), z.strictObject({ file: z.string(), sha256: z.string() })),
  /**
   * Limits of the parent: bytes of a line, requests in a batch, nesting depth, bytes of log before the process is
   * killed, and how many of the last bytes of log are kept.
   */
  caps: z.strictObject({ lineBytes: count, batchRequests: count, depth: count, logBytes: count, logTailBytes: count }),
  /**
   * Deadlines in milliseconds: from the start until `load` is answered, for one request line, and from closing the
   * request pipe until the process is killed.
   */
  wallMs: z.strictObject({ start: count, request: count, close: count }),
});
export type JailProfile = z.infer<typeof jailProfileSchema>;

/** `sandbox/owner-profile.json`: the differences of the jail for a module of the agent's owner. */
const ownerProfileSchema = jailProfileSchema.pick({ bubblewrap: true, rlimits: true, cgroup: true, seccomp: true });
/** `sandbox/program-profile.json`: the same for a command of the agent's owner; `command` precedes it. */
const programProfileSchema = ownerProfileSchema.extend({ command: jailProfileSchema.shape.command });

/** A profile, and the folder where its relative file names start. */
export interface LoadedProfile {
  profile: JailProfile;
  folder: string;
}

/**
 * Path of the profile to use: WHET_JAIL_PROFILE, else the project's. Workers in containers set it to
 * `sandbox/profile-pod.json`, because /proc/sys is read-only there.
 */
function profilePath(): string {
  return process.env['WHET_JAIL_PROFILE'] || join(projectRoot(), 'sandbox', 'profile.json');
}

/**
 * Reads a profile; default: `profilePath()`.
 * @throws SandboxUnavailable, which names the file, and the wrong field if it is not a profile.
 */
export function loadProfile(path: string = profilePath()): LoadedProfile {
  try {
    return { profile: jailProfileSchema.parse(JSON.parse(readFileSync(path, 'utf8'))), folder: dirname(path) };
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new SandboxUnavailable([
      `The jail's profile ${path} cannot be read: ${why}. Set WHET_JAIL_PROFILE to sandbox/profile.json or ` +
        'sandbox/profile-pod.json, or unset it.',
    ]);
  }
}

/** The profile for modules of the agent's owner, with the parent's limits, deadlines and users of the given profile. */
export const ownerProfile = (loaded: LoadedProfile): LoadedProfile =>
  changedProfile(loaded, ownerProfileSchema, 'owner-profile.json');

/**
 * The same for commands of the agent's owner: they see the machine's /usr, their own folder and the network.
 * @param memoryMiB memory of the control group. Default: what the profile says.
 */
export function programProfile(loaded: LoadedProfile, memoryMiB?: number): LoadedProfile {
  const { folder, profile } = changedProfile(loaded, programProfileSchema, 'program-profile.json');
  if (memoryMiB === undefined) return { folder, profile };
  return { folder, profile: { ...profile, cgroup: { ...profile.cgroup, memoryBytes: memoryMiB * 2 ** 20 } } };
}

function changedProfile(
  { profile }: LoadedProfile,
  schema: z.ZodType<Partial<JailProfile> & Pick<JailProfile, 'bubblewrap'>>,
  file: string,
): LoadedProfile {
  const folder = join(projectRoot(), 'sandbox');
  const own = schema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
  // As in profile-pod.json: a container has no writable /proc/sys, and may mount no /proc of its own.
  const isPod = !profile.bubblewrap.flat().includes(NO_NESTED_NAMESPACES);
  const bubblewrap = own.bubblewrap
    .filter(([first]) => !isPod || first !== '--proc')
    .map((group) => group.filter((argument) => !isPod || argument !== NO_NESTED_NAMESPACES));
  return { folder, profile: { ...profile, ...own, bubblewrap } };
}
