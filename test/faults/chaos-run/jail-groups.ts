import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const CGROUPS = '/sys/fs/cgroup';
const JAIL_GROUP = /^whetstone-jail-(\d+)-\d+$/;
/** Control groups of jails that these processes started; of all jails where none are named. */
export function jailGroups(owners?: ReadonlySet<number>, folder = CGROUPS, depth = 0): string[] {
  return directoriesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    const owner = JAIL_GROUP.exec(name)?.[1];
    if (owner !== undefined) return owners?.has(Number(owner)) === false ? [] : [path];
    return depth < 4 ? jailGroups(owners, path, depth + 1) : [];
  });
}

function directoriesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
  } catch {
    return [];
  }
}
