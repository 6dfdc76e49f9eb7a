import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of files that a folder is searched for. */
const TRACE_FILE = /\.(?:jsonl?|ndjson|txt|log)(?:\.gz)?$/i;

/** What was found under a name. */
export interface InputFile {
  path: string;
  /** Why it is not read; null: it is. */
  leftOut: string | null;
}

/**
 * The files under the names, in order; a folder's in the order of their names, with those of its folders. Links in
 * folders are not followed: they may lead anywhere.
 * @throws the errors of the file system for a name that was given.
 */
export async function* inputFiles(names: readonly string[]): AsyncGenerator<InputFile> {
  for (const name of names) {
    if ((await stat(name)).isDirectory()) yield* filesIn(name);
    else yield { path: name, leftOut: null };
  }
}

async function* filesIn(folder: string): AsyncGenerator<InputFile> {
  let names: string[];
  try {
    names = (await readdir(folder)).sort();
  } catch {
    yield { path: folder, leftOut: 'a folder that cannot be read' };
    return;
  }
  for (const name of names) {
    if (name.startsWith('.')) continue;
    const path = join(folder, name);
    const found = await lstat(path);
    if (found.isDirectory()) yield* filesIn(path);
    else if (found.isSymbolicLink()) yield { path, leftOut: 'a symbolic link in a folder' };
    else if (!found.isFile()) yield { path, leftOut: 'not a file' };
    else yield { path, leftOut: TRACE_FILE.test(name) ? null : 'another kind of file (.json, .jsonl, .ndjson, .gz)' };
  }
}
