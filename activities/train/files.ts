import { readdir, stat } from 'node:fs/promises';
import { orIfMissing } from '../../store';

/** Names in a folder, without temporary files (`.tmp`); empty when there is no such folder. */
export async function fileNames(folder: string): Promise<string[]> {
  const names = await orIfMissing(readdir(folder), []);
  return names.filter((name) => !name.endsWith('.tmp'));
}

/** Whether there is a file or folder at the path. Throws when that cannot be told. */
export async function exists(path: string): Promise<boolean> {
  return (await orIfMissing(stat(path), null)) !== null;
}
