import { readFile } from 'node:fs/promises';

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

/** Reads a file as UTF-8 text; null if there is none. Rejects with any other error of the file system. */
export const readIfExists = (path: string): Promise<string | null> => orIfMissing(readFile(path, 'utf8'), null);
