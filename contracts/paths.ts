import { lstatSync, realpathSync, type Stats } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';

/** Whether a path is a folder or is in it, by its words: links are not followed. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/**
 * What lies at the path that a word of a command may be, links not followed. Undefined: nothing; most words name no
 * file, and many could not, because they are too long for a path or have characters that none has.
 */
export function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The target of a path; the path itself if nothing exists there yet. */
export function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
