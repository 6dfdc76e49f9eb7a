import { isStoreError, StoreFullError, StoreUnavailableError, type StoreError } from './errors';

/** Codes of the operating system that say that there is no room, and those that say that a disk does not work. */
const NO_ROOM = ['ENOSPC', 'EDQUOT'];
const BROKEN = ['EIO', 'EROFS', 'ESTALE'];

/**
 * The typed error behind an error of the file system: the disk is full, or does not work. Null for every other error.
 * @param path of the file, for the message, where the error does not name it.
 */
export function diskError(error: unknown, path?: string): StoreError | null {
  if (isStoreError(error)) return error;
  const { code, path: named } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === undefined) return null;
  const where = path ?? named ?? 'a file';
  if (NO_ROOM.includes(code))
    return new StoreFullError(
      `The disk of the store is full: ${where} could not be written (${code}). Free space; the run goes on by itself.`,
      { cause: error },
    );
  if (BROKEN.includes(code))
    return new StoreUnavailableError(
      `The disk of the store does not work: ${where} could not be read or written (${code}). Mend or mount it again; ` +
        'the run goes on by itself.',
      { cause: error },
    );
  return null;
}

/** The result of a file operation. Rejects with a typed error where the disk is at fault (see `diskError`). */
export async function onDisk<T>(path: string, operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    throw diskError(error, path) ?? error;
  }
}
