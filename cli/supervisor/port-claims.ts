import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProcess, isRunning, type ProcessId } from './processes';

/** Folder with one file for each claimed port, which names the process; each user has a folder of their own. */
const directory = () => join(tmpdir(), `whet-ports-${process.getuid?.() ?? 0}`);

/**
 * Claims a port for this process, so that two `whet up` at the same time choose different ports. Minutes may pass
 * between the choice and the first `listen`, while a model is made. A claim ends with its process; by then a service
 * listens at the port, or none needs it. Returns false when another process that runs has claimed it.
 */
export function claimPort(port: number): boolean {
  mkdirSync(directory(), { recursive: true });
  const path = join(directory(), String(port));
  try {
    writeFileSync(path, JSON.stringify(findProcess(process.pid)), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const owner = readOwner(path);
  if (owner !== null && owner.pid !== process.pid && isRunning(owner)) return false;
  writeFileSync(path, JSON.stringify(findProcess(process.pid)));
  return true;
}

function readOwner(path: string): ProcessId | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessId;
  } catch {
    // Gone meanwhile, or half written by somebody who was killed.
    return null;
  }
}
