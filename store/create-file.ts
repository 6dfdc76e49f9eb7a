import { randomBytes } from 'node:crypto';
import { link, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { onDisk } from './file-errors';
import { makeFolder, syncFolder } from './folders';
import { writeNewFile } from './replace-file';

/**
 * Creates a file. If several processes try, one succeeds; readers see the whole content or no file.
 * @returns false if the file existed already; it is left as it is.
 * @throws StoreFullError, StoreUnavailableError.
 */
export function createFile(path: string, data: string): Promise<boolean> {
  return onDisk(path, create(path, data));
}

async function create(path: string, data: string): Promise<boolean> {
  await makeFolder(dirname(path));
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeNewFile(temporary, data);
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
  await syncFolder(dirname(path));
  return true;
}
