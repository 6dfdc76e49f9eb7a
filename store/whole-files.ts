import { randomBytes } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { onDisk } from './file-errors';
import { makeFolder, syncFolder } from './folders';

/**
 * Writes a file. Readers see either the old or the new content, never a part. If it rejects, the old content remains,
 * without a temporary file.
 * @throws StoreFullError, StoreUnavailableError.
 */
export function replaceFile(path: string, data: string | Uint8Array): Promise<void> {
  return onDisk(path, writeAside(path, data, rename));
}

/**
 * Creates a file. If several processes try, one succeeds; readers see the whole content or no file.
 * @returns false if the file already existed; then it is not changed.
 * @throws StoreFullError, StoreUnavailableError.
 */
export async function createFile(path: string, data: string): Promise<boolean> {
  try {
    await onDisk(path, writeAside(path, data, link));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Writes a file under another name, syncs it, and then renames it to its place. */
async function writeAside(
  path: string,
  data: string | Uint8Array,
  put: (temporary: string, path: string) => Promise<void>,
): Promise<void> {
  await makeFolder(dirname(path));
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeNewFile(temporary, data);
    await put(temporary, path);
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
  await syncFolder(dirname(path));
}

/**
 * Writes a file that does not exist yet, down to the disk. A part of it may be left when it rejects.
 * @param mode default: what the umask leaves.
 */
export async function writeNewFile(path: string, data: string | Uint8Array, mode?: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
}
