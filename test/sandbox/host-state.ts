import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { loadProfile } from '../../sandbox';
import { projectRoot } from '../../contracts/project-root';
import { jailPlan } from '../../sandbox/jail-plan';

/**
 * What an attack could have left on the host. Everything here must be the same before and after, whatever else the
 * machine does meanwhile: files, sockets and processes of others are told apart by their user, which is a jail's or
 * not.
 */
export interface HostState {
  /** Processes of jail users that no living service holds. */
  orphans: { pid: number; command: string }[];
  /** Files of jail users in directories that every user may write to, and in the shared memory of the machine. */
  foreignFiles: string[];
  /** Path, size and time of every file of the jail's tree, of the sandbox and of the runtime. */
  ownFiles: string[];
  /** Mounts of bubblewrap or of the jail's tree. Others come and go with the machine's containers. */
  mounts: string[];
  /** Sockets of jail users: TCP, UDP, raw, unix. */
  sockets: string[];
  /** Ports that this process listens on. */
  listening: number;
  /** Control groups that this process made. */
  cgroups: string[];
  /** System V and POSIX objects, kernel keys of jail users. */
  ipc: string[];
  kernelSettings: Record<string, string>;
}

/** Of `/proc/meminfo`, in MiB: memory of tmpfs and shared mappings on the whole machine, so other work shows in it. */
export function sharedMemoryMb(): number {
  return Number(/^Shmem:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;
}

const SHARED_DIRECTORIES = [
  '/tmp',
  '/var/tmp',
  '/dev/shm',
  '/dev/mqueue',
  '/run',
  '/var/crash',
  '/var/lib/systemd/coredump',
];
const SETTINGS = [
  'kernel/core_pattern',
  'kernel/hostname',
  'kernel/domainname',
  'kernel/randomize_va_space',
  'kernel/modprobe',
  'kernel/panic',
  'vm/overcommit_memory',
  'fs/suid_dumpable',
];

/** Looks at the host as it is now. */
export async function hostState(): Promise<HostState> {
  const { first, count } = loadProfile().profile.uids;
  const isJail = (uid: number): boolean => uid >= first && uid < first + count;
  return {
    orphans: orphans(isJail),
    foreignFiles: SHARED_DIRECTORIES.flatMap((directory) =>
      files(directory, 3)
        .filter(({ uid }) => isJail(uid))
        .map(({ path }) => path),
    ),
    ownFiles: [
      // The Python tree.
      (await jailPlan(loadProfile())).arguments.find(([option]) => option === '--ro-bind')![1]!,
      join(projectRoot(), 'sandbox'),
      join(projectRoot(), 'trainer-image', 'whetstone', 'envs'),
    ].flatMap((directory) =>
      files(directory, 20)
        // Python programs of other tests write byte code there.
        .filter(({ path }) => !/\.pyc$|\/__pycache__$/.test(path) || path.startsWith('/var'))
        .map(({ path, size, modified, mode }) => `${path} ${size} ${modified} ${mode}`),
    ),
    mounts: lines('/proc/self/mountinfo').filter((line) => /newroot|oldroot|jail-root/.test(line)),
    sockets: [
      ...['tcp', 'tcp6', 'udp', 'udp6', 'raw', 'raw6'].flatMap((kind) =>
        lines(`/proc/net/${kind}`)
          .slice(1)
          .filter((line) => isJail(Number(line.trim().split(/\s+/)[7]))),
      ),
      ...lines('/proc/net/unix').filter((line) => line.includes('whet-hostile')),
    ],
    listening: readdirSync('/proc/self/fd').filter((fd) => isListening(fd)).length,
    cgroups: [...new Set(cgroupsOf('/sys/fs/cgroup', 5))],
    ipc: [
      ...['shm', 'sem', 'msg'].flatMap((kind) =>
        lines(`/proc/sysvipc/${kind}`)
          .slice(1)
          .filter((line) =>
            line
              .trim()
              .split(/\s+/)
              .some((word) => isJail(Number(word))),
          ),
      ),
      ...lines('/proc/keys').filter((line) => isJail(Number(line.trim().split(/\s+/)[5]))),
    ],
    kernelSettings: Object.fromEntries(SETTINGS.map((name) => [name, lines(`/proc/sys/${name}`).join()])),
  };
}

/**
 * What differs from `before` in every look, as lines 'field: value', with '+' for what came and '-' for what went.
 * Looks again until nothing is left, 50 ms apart: the kernel takes a moment to let go of a control group, and jails of
 * tests that run at the same time come and go. A control group of an earlier test may go meanwhile.
 */
export async function leftOnHost(before: HostState, mostLooks = 400): Promise<string[]> {
  const earlier = linesOf(before);
  const differences = (now: Set<string>): string[] => [
    ...[...now].filter((line) => !earlier.has(line)).map((line) => `+ ${line}`),
    ...[...earlier].filter((line) => !now.has(line) && !COME_AND_GO.test(line)).map((line) => `- ${line}`),
  ];
  let left = differences(linesOf(await hostState()));
  for (let looks = 1; looks < mostLooks && left.length > 0; looks++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const again = new Set(differences(linesOf(await hostState())));
    left = left.filter((line) => again.has(line));
  }
  return left;
}

const COME_AND_GO = /^(orphans|foreignFiles|mounts|sockets|cgroups|ipc): /;

const linesOf = (state: HostState): Set<string> =>
  new Set(
    Object.entries(state).flatMap(([field, value]) =>
      (Array.isArray(value) ? value : [value]).map((item: unknown) => `${field}: ${JSON.stringify(item)}`),
    ),
  );

function lines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

interface Found {
  path: string;
  uid: number;
  size: number;
  modified: number;
  mode: number;
}

function files(directory: string, depth: number): Found[] {
  const names = readableEntries(directory);
  return names.flatMap((name) => {
    const path = join(directory, name);
    try {
      const { uid, size, mtimeMs: modified, mode } = statSync(path, { bigint: false });
      const own: Found = { path, uid, size, modified, mode };
      return (mode & 0o170000) === 0o040000 && depth > 1 ? [own, ...files(path, depth - 1)] : [own];
    } catch {
      return [];
    }
  });
}

function readableEntries(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/**
 * A jail belongs to a service as long as the chain of its ancestors reaches a process of another user that is not init.
 */
function orphans(isJail: (uid: number) => boolean): HostState['orphans'] {
  const processes = new Map<number, { parent: number; uid: number; command: string }>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const status = lines(`/proc/${name}/status`).join('\n');
    const state = /^State:\s+(\w)/m.exec(status)?.[1];
    if (state === undefined || state === 'Z') continue;
    const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
    processes.set(Number(name), {
      parent: Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]),
      uid,
      command: lines(`/proc/${name}/cmdline`).join().replaceAll('\0', ' ').trim(),
    });
  }
  const isHeld = (pid: number): boolean => {
    const found = processes.get(pid);
    if (!found || pid <= 1) return false;
    return isJail(found.uid) ? isHeld(found.parent) : true;
  };
  return [...processes]
    .filter(([pid, { uid }]) => isJail(uid) && !isHeld(pid))
    .map(([pid, { command }]) => ({ pid, command }));
}

function isListening(fd: string): boolean {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
    return (
      inode !== undefined &&
      [...lines('/proc/net/tcp'), ...lines('/proc/net/tcp6')].some(
        (line) => line.trim().split(/\s+/)[3] === '0A' && line.trim().split(/\s+/)[9] === inode,
      )
    );
  } catch {
    return false;
  }
}

function cgroupsOf(directory: string, depth: number): string[] {
  return readableEntries(directory).flatMap((name) => {
    const path = join(directory, name);
    if (name.startsWith(`whetstone-jail-${process.pid}-`)) return [path];
    return depth > 1 && statSync(path, { throwIfNoEntry: false })?.isDirectory() ? cgroupsOf(path, depth - 1) : [];
  });
}
