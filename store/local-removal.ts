import { randomBytes } from 'node:crypto';
import { type Dirent } from 'node:fs';
import { lstat, readdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolders } from './folders';
import { isMissing, orIfMissing } from './read-files';

/**
 * Folder in the store's root for content that is about to be deleted. A killed process may leave content there, under a
 * name that begins with the time in milliseconds since 1970.
 */
const REMOVED = '.removed';

/** A file of a directory tree; `path` is relative to the tree's root. */
interface TreeFile {
  path: string;
  bytes: number;
  modifiedMs: number;
}

/**
 * All regular files under a path, in the order of their names. Symbolic links are neither followed nor returned. Files
 * that disappear meanwhile are left out.
 */
export async function* filesUnder(root: string, path: string): AsyncIterable<TreeFile> {
  const entries = await entriesOf(join(root, path));
  for (const entry of entries) {
    const child = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) yield* filesUnder(root, child);
    else if (entry.isFile()) {
      const found = await orIfMissing(lstat(join(root, child)), null);
      if (found?.isFile()) yield { path: child, bytes: found.size, modifiedMs: found.mtimeMs };
    }
  }
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  // A link to a directory elsewhere would lead out of the store.
  if (!(await orIfMissing(lstat(directory), null))?.isDirectory()) return [];
  const entries = await orIfMissing(readdir(directory, { withFileTypes: true }), []);
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Removes a file or directory, unless something in it was modified after `unmodifiedSinceMs`. First it moves the tree
 * away with one rename, so that nobody ever sees half a directory. Returns whether this call removed it.
 *
 * A writer that reuses something old touches it. So the time is read again after the rename, and a tree that was
 * touched in between is moved back.
 * @throws RangeError if the path leads out of the root through a symbolic link.
 */
export async function removeTree(root: string, path: string, unmodifiedSinceMs: number): Promise<boolean> {
  const target = join(root, path);
  const newest = await newestChange(target);
  if (newest === null || newest > unmodifiedSinceMs) return false;
  await requireInside(root, target);
  const aside = join(root, REMOVED, `${Date.now()}-${randomBytes(6).toString('hex')}`);
  await makeFolders(dirname(aside));
  try {
    await rename(target, aside);
  } catch (error) {
    // Somebody else removed it.
    if (isMissing(error)) return false;
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    // This part of the store is on another disk, from which nothing can be renamed.
    await rm(target, { recursive: true, force: true });
    return true;
  }
  if (((await newestChange(aside)) ?? 0) > unmodifiedSinceMs && (await moveBack(aside, target))) return false;
  await rm(aside, { recursive: true, force: true });
  return true;
}

/** Latest modification of a file, or of a directory and everything in it; null if it does not exist or is a link. */
async function newestChange(path: string): Promise<number | null> {
  const found = await orIfMissing(lstat(path), null);
  if (found === null || found.isSymbolicLink()) return null;
  let newest = found.mtimeMs;
  for (const entry of await entriesOf(path))
    newest = Math.max(newest, (await newestChange(join(path, entry.name))) ?? 0);
  return newest;
}

async function requireInside(root: string, target: string): Promise<void> {
  const [realRoot, realParent] = await Promise.all([realpath(root), realpath(dirname(target))]);
  if (realParent === realRoot || realParent.startsWith(`${realRoot}/`)) return;
  throw new RangeError(`${target} lies outside the store ${root}, behind a symbolic link. It is left as it is.`);
}

/** Returns false, and moves nothing, if something new has taken its place. */
async function moveBack(aside: string, target: string): Promise<boolean> {
  if ((await orIfMissing(lstat(target), null)) !== null) return false;
  await rename(aside, target);
  return true;
}
