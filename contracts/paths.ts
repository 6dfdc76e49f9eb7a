import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';

/** Whether a path is a folder or is in it, by its words: links are not followed. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/** The target of a path; the path itself if nothing exists there yet. */
export function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
