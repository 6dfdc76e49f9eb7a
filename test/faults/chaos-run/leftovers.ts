import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isRunning, type ProcessId } from '../../../cli/supervisor/processes';
import { isFree } from '../../../cli/supervisor/ports';
import type { Instance } from './instance';
import { jailGroups } from './jail-groups';

/** Files that only exist while something is written, locked or up. */
const TEMPORARY = /(\.tmp|\.lock\.[0-9a-f]+|\.json\.lock|\.partial)$|^supervisor\.json$/;

/** Looks for what an instance left behind after `whet down`: a line for each thing. */
export async function findLeftovers(instance: Instance): Promise<string[]> {
  const { census, ports, home, temporaryFiles } = instance;
  const processes = census.stillRunning.map(({ kind, pid, command }) => `process ${pid} ${kind}: ${command}`);
  const listening = await Promise.all(
    [...Object.entries(ports), ...instance.formerPorts.map((port) => ['before', port] as const)].map(
      async ([name, port]) => ((await isFree(port)) ? [] : [`port ${port} of ${name}`]),
    ),
  );
  return [
    ...processes,
    ...jailGroups(new Set(census.everSeen.map(({ pid }) => pid)))
      .filter((path) => !instance.groupsBefore.has(path))
      .map((path) => `control group ${path}`),
    ...listening.flat(),
    ...filesBelow(temporaryFiles).flatMap((path) => describeTemporary(temporaryFiles, path)),
    ...filesBelow(home)
      .filter((path) => TEMPORARY.test(path) || TEMPORARY.test(basename(path)))
      .map((path) => `file ${path}`),
  ];
}

/** A claim of a port ends with its process; the file alone blocks nobody. */
function describeTemporary(folder: string, path: string): string[] {
  if (!/^whet-ports-\d+\/\d+$/.test(path)) return [`temporary file ${path}`];
  try {
    const owner = JSON.parse(readFileSync(join(folder, path), 'utf8')) as ProcessId;
    return isRunning(owner) ? [`port claim ${basename(path)} of process ${owner.pid}`] : [];
  } catch {
    return [`torn port claim ${basename(path)}`];
  }
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [] : [join(entry.parentPath, entry.name).slice(folder.length + 1)],
  );
}
