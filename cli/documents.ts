import { statSync } from 'node:fs';
import { z } from 'zod';
import { jsonFault } from '../contracts/json-fault';
import { type ArtifactStore, StoreCorruptError } from '../store';
import { CliError } from './errors';

/**
 * Reads the content at `path`. @throws CliError, with the file, the fault and `remedy`, if the content is damaged: torn
 * by a crash, edited by hand, or written by another version.
 */
export async function readDamageable<T>(path: string, remedy: string, read: () => Promise<T> | T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    // The store's own message is complete and says how to restore the previous version.
    if (error instanceof StoreCorruptError)
      throw new CliError(`${path}: ${error.message}`, { type: error.type, cause: error });
    const reason = damage(error);
    if (reason === null) throw error;
    throw new CliError(`${path} is damaged: ${reason}. ${remedy}`, { type: 'Store.Corrupt', cause: error });
  }
}

/** The fault of a document; null for an error that does not concern its content. */
function damage(error: unknown): string | null {
  if (error instanceof SyntaxError) return `it is not whole JSON (${jsonFault(error)})`;
  if (!(error instanceof z.ZodError)) return null;
  const [issue] = error.issues;
  return `${issue?.path.join('.') || 'the document'}: ${issue?.message ?? 'it does not have the expected form'}`;
}

/** A damaged file, and its fault in a few words. */
export interface DamagedFile {
  file: string;
  problem: string;
}

/** Makes a reader of files that adds damaged ones to `damaged` and returns null for them. */
export const readerOf =
  (store: ArtifactStore, damaged: DamagedFile[]) =>
  async <T>(key: string, read: () => Promise<T>): Promise<T | null> => {
    try {
      return await read();
    } catch (error) {
      damaged.push({ file: store.localPath(key), problem: problemOf(error) });
      return null;
    }
  };

function problemOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'it is not whole JSON';
  const issues = (error as { issues?: { path: PropertyKey[]; message: string }[] }).issues;
  if (issues?.[0] !== undefined) return `${issues[0].path.join('.') || 'the document'}: ${issues[0].message}`;
  return ((error as Error).message.split('\n')[0] ?? '').trim();
}

/** Key of the newest file in a folder of the store whose name matches; null if there is none. */
export async function newestIn(store: ArtifactStore, folder: string, names: RegExp): Promise<string | null> {
  const files = (await store.list(folder))
    .filter((name) => names.test(name))
    .map((name) => ({ key: `${folder}/${name}`, time: statSync(store.localPath(`${folder}/${name}`)).mtimeMs }));
  return files.sort((a, b) => b.time - a.time)[0]?.key ?? null;
}
