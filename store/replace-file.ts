import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { onDisk } from './file-errors';
import { makeFolder, syncFolder } from './folders';

/**
 * Writes a file. Readers see the whole old or the whole new content, never a part. When it rejects, the old content is
 * there, and nothing beside it.
 * @throws StoreFullError, StoreUnavailableError.
 */
export function replaceFile(path: string, data: string | Uint8Array): Promise<void> {
  return onDisk(path, replace(path, data));
}

async function replace(path: string, data: string | Uint8Array): Promise<void> {
  await makeFolder(dirname(path));
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeNewFile(temporary, data);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Writes a file that does not exist yet, down to the disk. A part of it may be left when it rejects. */
export async function writeNewFile(path: string, data: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
}
