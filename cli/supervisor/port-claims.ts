import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProcess, isRunning, type ProcessId } from './processes';

/** One file per claimed port with the process that claimed it; a user's claims are no other user's business. */
const directory = () => join(tmpdir(), `whet-ports-${process.getuid?.() ?? 0}`);

/**
 * Claims a port for this process, so that two `whet up` at the same moment choose different ones: between the choice
 * and the first `listen` a model may have to be made. A claim ends with its process; by then the port is listened on,
 * or not needed. Returns false when another process that runs has claimed it.
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
