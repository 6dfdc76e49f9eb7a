import { isStoreError, StoreFullError, StoreUnavailableError, type StoreError } from './errors';

/** errno codes of a full disk, and of a failing one. */
const NO_ROOM = ['ENOSPC', 'EDQUOT'];
const BROKEN = ['EIO', 'EROFS', 'ESTALE'];

/**
 * The typed error for an error of the file system: the disk is full, or it fails. Null for every other error.
 * @param path path of the file for the message, if the error does not name it.
 */
export function diskError(error: unknown, path?: string): StoreError | null {
  if (isStoreError(error)) return error;
  const { code = '', syscall, path: named } = (error ?? {}) as NodeJS.ErrnoException;
  const where = path ?? named ?? 'a file';
  const typed = NO_ROOM.includes(code)
    ? new StoreFullError(
        `The disk of the store is full: ${where} could not be written (${code}). Free space; the run goes on by ` +
          'itself.',
        { cause: error },
      )
    : BROKEN.includes(code)
      ? new StoreUnavailableError(
          `The disk of the store does not work: ${where} could not be read or written (${code}). Mend or mount it ` +
            'again; the run goes on by itself.',
          { cause: error },
        )
      : null;
  // Commands of whet outside a run have their own sentence for the system's code.
  return typed && Object.assign(typed, { code, syscall, path: where });
}

/** The result of a file operation. Rejects with a typed error if the disk is the cause (see `diskError`). */
export async function onDisk<T>(path: string, operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    throw diskError(error, path) ?? error;
  }
}
