import { readdir, readFile, stat } from 'node:fs/promises';

/** Reads a text file; null when there is none. Throws on any other failure. */
export function readTextOrNull(path: string): Promise<string | null> {
  return orWhenMissing(readFile(path, 'utf8'), null);
}

/** Names in a folder, without temporary files (`.tmp`); empty when there is no such folder. */
export async function fileNames(folder: string): Promise<string[]> {
  const names = await orWhenMissing(readdir(folder), []);
  return names.filter((name) => !name.endsWith('.tmp'));
}

/** Whether there is a file or folder at the path. Throws when that cannot be told. */
export async function exists(path: string): Promise<boolean> {
  return (await orWhenMissing(stat(path), null)) !== null;
}

async function orWhenMissing<T, U>(result: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await result;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}
