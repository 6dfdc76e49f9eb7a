import { readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProcess } from './processes';

const MOUNT = '/sys/fs/cgroup';
/** Control groups of jails, by the name from `sandbox/cgroup.ts`, which contains the process that made each. */
const NAME = /^whetstone-jail-(\d+)-\d+$/;
/** How long the kernel may still count processes that were just killed. */
const LIMIT_MS = 2_000;

/**
 * The folders in which a process may have made control groups for jails. Call it while that process runs.
 * @param pid default: this process.
 */
export function jailGroupFolders(pid: number | 'self' = 'self'): string[] {
  // Lines look like `4:memory:/some/path`; the unified hierarchy has no name.
  const lines = read(`/proc/${pid}/cgroup`).trim().split('\n');
  return lines.flatMap((line) => {
    const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    return path === undefined ? [] : (names ?? '').split(',').map((name) => join(MOUNT, name, path));
  });
}

/**
 * Removes the control groups of jails whose process no longer runs. At its start a worker removes the groups of an
 * earlier worker, but after `whet down` no worker starts. A group that still has processes stays.
 */
export async function removeLeftJailGroups(folders: Iterable<string>): Promise<void> {
  const left = [...new Set(folders)].flatMap(leftGroups);
  const end = Date.now() + LIMIT_MS;
  for (const path of left) while (!isRemoved(path) && Date.now() < end) await sleep(50);
}

function leftGroups(folder: string): string[] {
  return names(folder).flatMap((name) => {
    const owner = NAME.exec(name)?.[1];
    return owner !== undefined && findProcess(Number(owner)) === null ? [join(folder, name)] : [];
  });
}

function isRemoved(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EBUSY';
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
