import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which control groups bound a jail besides its rlimits. */
export type CgroupLayer = 'v1' | 'v2' | 'none';

/** A control group made for one jail. */
export interface JailCgroup {
  readonly layer: CgroupLayer;
  /** Command prefix whose process joins the group before it becomes the jail. */
  joinPrefix(): string[];
  /** Removes the group. Call it when its processes are gone; a group that is still busy is removed by a later start. */
  release(): void;
}

interface Controller {
  directory: string;
  settings: (limits: { memoryBytes: number; processes: number }) => Record<string, string>;
}

const MOUNT = '/sys/fs/cgroup';
const NAME = /^whetstone-jail-(\d+)-\d+$/;
let controllers: { layer: CgroupLayer; list: Controller[] } | undefined;
let counter = 0;

/** Which control groups this process may create below its own; looked up once. */
export function cgroupLayer(): CgroupLayer {
  controllers ??= findControllers();
  return controllers.layer;
}

/**
 * Makes a control group with the limits, below the one that this process is in.
 * @returns null where control groups cannot be written: the jail then rests on rlimits, which bound its memory by themselves
 * because nothing inside can start a second process or keep memory outside its address space.
 */
export function createJailCgroup(limits: { memoryBytes: number; processes: number }): JailCgroup | null {
  const layer = cgroupLayer();
  if (layer === 'none') return null;
  const made: string[] = [];
  try {
    const name = `whetstone-jail-${process.pid}-${counter++}`;
    for (const { directory, settings } of controllers!.list) {
      const path = join(directory, name);
      mkdirSync(path);
      made.push(path);
      for (const [file, value] of Object.entries(settings(limits))) writeSetting(path, file, value);
    }
  } catch {
    made.forEach((path) => remove(path));
    return null;
  }
  return {
    layer,
    joinPrefix: () => ['/bin/sh', '-c', 'for group in $0; do echo $$ > "$group/cgroup.procs" || exit 71; done; exec "$@"', made.join(' ')],
    release: () => made.forEach((path) => remove(path)),
  };
}

function findControllers(): { layer: CgroupLayer; list: Controller[] } {
  try {
    const own = ownGroups(readFileSync('/proc/self/cgroup', 'utf8'));
    const found = own.has('memory') && own.has('pids') ? version1(own.get('memory')!, own.get('pids')!) : version2(own.get('') ?? '/');
    found.list.forEach(({ directory }) => {
      accessSync(directory, constants.W_OK);
      sweep(directory);
    });
    return found;
  } catch {
    return { layer: 'none', list: [] };
  }
}

/** Controller name to path; the name is empty for the unified hierarchy. Lines look like `4:memory:/some/path`. */
function ownGroups(text: string): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of text.trim().split('\n')) {
    const match = /^\d+:([^:]*):(.*)$/.exec(line);
    for (const name of match?.[1]?.split(',') ?? []) groups.set(name, match![2]!);
  }
  return groups;
}

function version1(memory: string, pids: string): { layer: CgroupLayer; list: Controller[] } {
  return {
    layer: 'v1',
    list: [
      { directory: join(MOUNT, 'memory', memory), settings: ({ memoryBytes }) => ({ 'memory.limit_in_bytes': String(memoryBytes) }) },
      { directory: join(MOUNT, 'pids', pids), settings: ({ processes }) => ({ 'pids.max': String(processes) }) },
    ],
  };
}

function version2(path: string): { layer: CgroupLayer; list: Controller[] } {
  const directory = join(MOUNT, path);
  const enabled = readFileSync(join(directory, 'cgroup.subtree_control'), 'utf8').split(/\s+/);
  if (!enabled.includes('memory') || !enabled.includes('pids')) throw new Error('memory and pids are not handed down to this group');
  return {
    layer: 'v2',
    list: [
      {
        directory,
        settings: ({ memoryBytes, processes }) => ({
          'memory.max': String(memoryBytes),
          'memory.swap.max': '0',
          'memory.oom.group': '1',
          'pids.max': String(processes),
        }),
      },
    ],
  };
}

function writeSetting(path: string, file: string, value: string): void {
  try {
    writeFileSync(join(path, file), value);
  } catch (error) {
    // Kernels without swap accounting have no such file.
    if (file !== 'memory.swap.max') throw error;
  }
}

/** Removes groups that a killed service left behind. */
function sweep(directory: string): void {
  for (const name of readdirSync(directory)) {
    const owner = NAME.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) remove(join(directory, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function remove(path: string, attempts = 5): void {
  try {
    rmdirSync(path);
  } catch {
    // The kernel takes a moment to forget processes that were just killed.
    if (attempts > 1) setTimeout(() => remove(path, attempts - 1), 50).unref();
  }
}
