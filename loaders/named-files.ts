import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { entryAt, isWithin, realPlace } from '../contracts/paths';
import { readBounded, UnreadableFileError } from './read-bounded';

/** Most files that belong to a command, and most bytes of one and of all: they are read at once. */
const MOST_FILES = 5_000;
/** Most of what is looked at for them, folders included. */
const MOST_ENTRIES = 20_000;
const LARGEST_BYTES = 50_000_000;
const MOST_BYTES = 200_000_000;

/** Folders whose content is installed or made, not written. */
const MADE = new Set(['__pycache__', 'node_modules', '.git']);

/** A command names files that are too many or too large, or that cannot be read. */
export class NamedFilesError extends Error {}

/**
 * The files of the agent's folder that a command names, with their hashes; of a folder all files in it, of a link what
 * it leads to. Virtual environments and other folders of installed files are left out.
 * @param words program and arguments.
 * @throws NamedFilesError.
 */
export function hashesOfNamedFiles(words: readonly string[], agentFolder: string): Record<string, string> {
  const found = none();
  const room = roomOfAll();
  for (const word of new Set(words)) {
    const path = resolve(agentFolder, word);
    const inside = relative(agentFolder, path);
    if (!isWithin(path, agentFolder) || isInEnvironment(agentFolder, inside) || entryAt(path) === undefined) continue;
    addFiles(found, agentFolder, inside, room);
  }
  return found;
}

/** Whether a file lies in a virtual environment: its programs name the folder that they were installed in. */
const isInEnvironment = (folder: string, name: string): boolean =>
  name.split('/').some((_, place, parts) => existsSync(join(folder, ...parts.slice(0, place + 1), 'pyvenv.cfg')));

/**
 * All files of a folder that `hashesOfNamedFiles` would read, with their hashes.
 * @throws NamedFilesError if they are too many, or too large.
 */
export function filesOfFolder(folder: string): Record<string, string> {
  const found = none();
  addFiles(found, realPlace(folder), '', roomOfAll());
  return found;
}

/** No files. An object without a prototype: a file may have any name. */
const none = () => Object.create(null) as Record<string, string>;

const roomOfAll = () => ({ bytes: MOST_BYTES, entries: MOST_ENTRIES });

/** @param room how much more may be read and looked at. */
function addFiles(
  found: Record<string, string>,
  folder: string,
  name: string,
  room: { bytes: number; entries: number },
): void {
  const path = join(folder, name);
  const status = unlessRefused(path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (status === undefined || name in found) return;
  if (Object.keys(found).length >= MOST_FILES)
    throw new NamedFilesError(`${folder}: the command names more than ${MOST_FILES} files of this folder.`);
  if (--room.entries < 0)
    throw new NamedFilesError(
      `${folder}: the command names more than ${MOST_ENTRIES} files and folders of this folder.`,
    );
  if (status.isSymbolicLink()) {
    found[name] = `link to ${withoutFolder(readlinkSync(path), folder)}`;
    const target = linkedFrom(folder, path);
    if (target !== null) addFiles(found, folder, target, room);
  } else if (status.isFile()) {
    found[name] = hashOf(path);
    if ((room.bytes -= status.size) < 0)
      throw new NamedFilesError(`${folder}: the command names files of more than ${MOST_BYTES} bytes.`);
  } else if (status.isDirectory()) {
    const entries = unlessRefused(path, () => entriesOf(path));
    if (entries.includes('pyvenv.cfg')) return;
    for (const entry of entries) if (!MADE.has(entry)) addFiles(found, folder, join(name, entry), room);
  }
}

/** @throws NamedFilesError where the system refuses to look at a path: it is too long, or not open to this process. */
function unlessRefused<T>(path: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    throw new NamedFilesError(`${path}, which the command names, cannot count: ${(error as Error).message}`);
  }
}

function hashOf(path: string): string {
  try {
    return createHash('sha256').update(readBounded(path, LARGEST_BYTES)).digest('hex');
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    throw new NamedFilesError(`${path}, which the command names, cannot count: ${error.sentence}`);
  }
}

/**
 * The name of what a link leads to; null if it is outside the folder, is installed or made, or holds the link itself.
 */
function linkedFrom(folder: string, link: string): string | null {
  const target = realPlace(link);
  const root = realPlace(folder);
  const name = relative(root, target);
  if (!isWithin(target, root) || isWithin(realPlace(join(link, '..')), target)) return null;
  return name.split('/').some((part) => MADE.has(part)) || isInEnvironment(root, name) ? null : name;
}

/** None, where the folder has just been removed. */
function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A link's target, which says nothing about where the folder lies if it is in the folder. */
function withoutFolder(target: string, folder: string): string {
  return target.startsWith(`${folder}/`) ? relative(folder, target) : target;
}
