import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from './assets';
import { SandboxUnavailable } from './errors';

const count = z.number().int().nonnegative();

/** `sandbox/profile.json`: the one description of the jail, read by the TypeScript launcher and by the trainer's. */
export const jailProfileSchema = z.strictObject({
  version: z.literal(1),
  /** bubblewrap's arguments, in groups for the reader; `${PYTHON_ROOT}` is the copied Python tree. */
  bubblewrap: z.array(z.array(z.string())),
  /** What runs inside; `${RUNTIME}` and `${THREADS}` are filled in. */
  command: z.array(z.string()).min(1),
  /** Path of the runtime inside the jail. */
  runtimeInJail: z.string(),
  /** Kernel user ids for jails that root starts: one each, because RLIMIT_NPROC counts by user. */
  uids: z.strictObject({ first: count, count: count.min(1) }),
  /** Limits of the process inside. `threads` is set inside the user namespace, the others before it. */
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
  /** Second bound on memory and processes, used where control groups can be written. */
  cgroup: z.strictObject({ memoryBytes: count, processes: count }),
  seccomp: z.record(z.string(), z.strictObject({ file: z.string(), sha256: z.string() })),
  /** What the parent accepts: longest line, requests in one batch, nesting, log bytes before the process is killed, kept tail. */
  caps: z.strictObject({ lineBytes: count, batchRequests: count, depth: count, logBytes: count, logTailBytes: count }),
  /** Deadlines in milliseconds: start until `load` is answered, one request line, the wait after closing the request pipe. */
  wallMs: z.strictObject({ start: count, request: count, close: count }),
});
export type JailProfile = z.infer<typeof jailProfileSchema>;

/** A profile and the folder that its relative file names start from. */
export interface LoadedProfile {
  profile: JailProfile;
  folder: string;
}

/**
 * Reads a profile; default: the project's.
 * @throws ZodError naming the field when the file is not a profile, or the file system's error.
 */
export function loadProfile(path: string = join(projectRoot(), 'sandbox', 'profile.json')): LoadedProfile {
  return { profile: jailProfileSchema.parse(JSON.parse(readFileSync(path, 'utf8'))), folder: join(path, '..') };
}

/** This machine's architecture as the kernel names it. */
export function kernelArch(): string {
  return process.arch === 'x64' ? 'x86_64' : process.arch === 'arm64' ? 'aarch64' : process.arch;
}

/**
 * Path of the seccomp filter for this machine, after comparing it with the profile's hash: a filter that was changed or cut short
 * would load and protect less.
 * @throws SandboxUnavailable when there is none for the architecture or it is not the one the profile names.
 */
export function seccompFilterPath({ profile, folder }: LoadedProfile): string {
  const entry = profile.seccomp[kernelArch()];
  if (!entry) throw new SandboxUnavailable([`There is no seccomp filter for ${kernelArch()}: add the architecture to sandbox/seccomp.ts and build it.`]);
  const path = join(folder, entry.file);
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    throw new SandboxUnavailable([
      `The seccomp filter ${entry.file} cannot be read (${(error as Error).message}): restore it with \`node dist/sandbox/build-seccomp.js\`.`,
    ]);
  }
  if (createHash('sha256').update(content).digest('hex') !== entry.sha256) {
    throw new SandboxUnavailable([
      `The seccomp filter ${entry.file} is not the one that profile.json names: restore both with \`node dist/sandbox/build-seccomp.js\`.`,
    ]);
  }
  return path;
}
