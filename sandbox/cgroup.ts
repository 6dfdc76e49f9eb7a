import { chmodSync, chownSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JailPlan } from './jail-plan';

/** The control groups that limit a jail in addition to its rlimits. */
export type CgroupLayer = JailPlan['cgroup']['layer'];

/** A control group made for one jail. */
export interface JailCgroup {
  readonly layer: CgroupLayer;
  /** v1: command prefix for a process, which joins the group by itself before it becomes the jail. Empty for v2. */
  joinPrefix(): string[];
  /**
   * v2: puts a process into the group; its later children are in it from the start. Nothing for v1. Rejects with the
   * file system's error if the group refuses it; a process that has ended is no error.
   */
  join(pid: number): Promise<void>;
  /**
   * Whether the kernel killed a process of the group because the group had reached its own memory limit. False if the
   * kernel does not say so, or if the whole machine ran out of memory.
   */
  brokeMemoryLimit(): boolean;
  /** Removes the group. Call it when its processes have ended; a later start removes a group that is still in use. */
  release(): void;
}

/** Longest wait before another attempt to remove a group. After that, the next start's sweep removes the group. */
const LONGEST_WAIT_MS = 30_000;
/** Longest wait that keeps the program alive; nobody would remove the group if the program ended earlier. */
const HELD_WAIT_MS = 400;
/** The counter starts at random, because a group of an earlier process with the same process id may still exist. */
let counter = Math.floor(Math.random() * 0x7fffffff);

/**
 * Makes a control group with the limits, below this process's group. It always limits memory and processes, and also
 * processor time if the kernel allows it.
 * @param uid the jail's user id in the kernel if it differs from ours; that user must be able to join the group.
 * @returns null if control groups cannot be made. Then the jail has only rlimits. They limit the memory of generated
 *   code, which can start no second process and keep no memory outside its address space. They do not limit that of
 *   an owner's command: it may start processes, and Node reserves more than 10 GiB of address space.
 */
export function createJailCgroup({ layer, controllers }: JailPlan['cgroup'], uid: number | null): JailCgroup | null {
  if (layer === 'none') return null;
  const made: string[] = [];
  // control_group.py removes groups of this name that an ended process left.
  const name = `whetstone-jail-${process.pid}-${counter++}`;
  for (const controller of controllers) {
    const path = join(controller.directory, name);
    try {
      makeGroup(path, controller.settings);
      if (layer === 'v1' && uid !== null) chownSync(join(path, 'tasks'), uid, uid);
      made.push(path);
    } catch {
      remove(path);
      // The kernel refuses more processor time than the parent group has. Memory and processes are still limited.
      if (!controller.needed) continue;
      made.forEach((other) => remove(other));
      return null;
    }
  }
  return {
    layer,
    // A thread that moves itself needs no lock. Moving another process takes 10 ms or more, because the kernel waits
    // for an RCU grace period.
    joinPrefix: () =>
      layer === 'v1'
        ? ['/bin/sh', '-c', 'for group in $0; do echo 0 > "$group/tasks" || exit 71; done; exec "$@"', made.join(' ')]
        : [],
    join: async (pid) => {
      if (layer === 'v2') for (const path of made) await joinGroup(path, pid);
    },
    brokeMemoryLimit: () => made.some((path) => reachedItsLimit(path) && hadKill(path)),
    release: () => made.forEach((path) => remove(path)),
  };
}

async function joinGroup(path: string, pid: number): Promise<void> {
  try {
    await writeFile(join(path, 'cgroup.procs'), String(pid));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Settings that may fail: kernels without swap accounting lack the first file, and the limit of processor time matters
 * less than the others.
 */
const DISPENSABLE: ReadonlySet<string> = new Set(['memory.swap.max', 'cpu.max']);

/** Makes a group and writes its limits. Throws the file system's error. */
function makeGroup(path: string, settings: Record<string, string>): void {
  mkdirSync(path);
  // The mode is independent of the umask, because the jail's user must be able to enter the folder.
  chmodSync(path, 0o755);
  for (const [file, value] of Object.entries(settings)) {
    try {
      writeFileSync(join(path, file), value);
    } catch (error) {
      if (!DISPENSABLE.has(file)) throw error;
    }
  }
}

/**
 * Whether a group has reached its own memory limit: v2's `oom` counts only that, and so does v1's failcnt. The kernel's
 * count of kills is not enough, because it includes kills caused by the whole machine's lack of memory.
 */
const reachedItsLimit = (path: string): boolean =>
  counterOf(join(path, 'memory.events'), /^oom (\d+)$/m) > 0 || counterOf(join(path, 'memory.failcnt'), /^(\d+)$/m) > 0;

const hadKill = (path: string): boolean =>
  ['memory.events', 'memory.oom_control'].some((file) => counterOf(join(path, file), /^oom_kill (\d+)$/m) > 0);

function counterOf(file: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Removes a group, and tries again later while the kernel still counts processes that were just killed. */
function remove(path: string, waitMs = 50): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || waitMs >= LONGEST_WAIT_MS) return;
    const timer = setTimeout(() => remove(path, waitMs * 2), waitMs);
    if (waitMs > HELD_WAIT_MS) timer.unref();
  }
}
