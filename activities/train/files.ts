import { readdir, stat } from 'node:fs/promises';
import type { z } from 'zod';
import { orIfMissing, readIfExists } from '../../store';

/** Names in a folder, without temporary files (`.tmp`); empty if the folder does not exist. */
export async function fileNames(folder: string): Promise<string[]> {
  const names = await orIfMissing(readdir(folder), []);
  return names.filter((name) => !name.endsWith('.tmp'));
}

/** Whether there is a file or folder at the path. Throws if the path cannot be read. */
export async function exists(path: string): Promise<boolean> {
  return (await orIfMissing(stat(path), null)) !== null;
}

/** Reads a JSON file; null if it does not exist. Throws ZodError or SyntaxError if it has another format. */
export async function readJsonFile<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readIfExists(path);
  return text === null ? null : schema.parse(JSON.parse(text));
}
