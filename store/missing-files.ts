import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { StoreCorruptError } from './errors';

/** Whether an error of the file system says that there is no such file or folder. */
export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** The result of a file operation, or `otherwise` if there is no such file or folder. Rejects with any other error. */
export async function orIfMissing<T, U>(result: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await result;
  } catch (error) {
    if (isMissing(error)) return otherwise;
    throw error;
  }
}

/**
 * Reads a whole file. A pipe in its place would be waited for, and a device read without end, until the memory is used
 * up: these are refused. Rejects with StoreCorruptError, or with the error of the file system.
 */
export async function readWholeFile(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    // Reading a directory is an error of the file system, which says more.
    if (!found.isFile() && !found.isDirectory())
      throw new StoreCorruptError(`${path} is a pipe, a device or a socket, not a file. Move it away.`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Reads a file as UTF-8 text; null if there is none. Rejects as `readWholeFile`. */
export const readIfExists = async (path: string): Promise<string | null> =>
  (await orIfMissing(readWholeFile(path), null))?.toString('utf8') ?? null;
