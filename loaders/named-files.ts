import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { readBounded } from './read-bounded';

/** Most files that belong to a command, and most bytes of one and of all that one folder holds. */
const MOST_FILES = 5_000;
/** Most of what is looked at for them, folders included. */
const MOST_ENTRIES = 20_000;
const LARGEST_BYTES = 50_000_000;
const MOST_BYTES = 200_000_000;

/** Folders whose content is installed or made, not written. */
const MADE = new Set(['__pycache__', 'node_modules', '.git']);

/** A command names more files than are read. */
export class NamedFilesError extends Error {}

/**
 * The files of the agent's folder that a command names, with their hashes; of a folder all files in it. A link is
 * represented by its target. Virtual environments and other folders of installed files are left out.
 * @param words program and arguments.
 * @throws NamedFilesError.
 */
export function hashesOfNamedFiles(words: readonly string[], agentFolder: string): Record<string, string> {
  const found = none();
  const room = { bytes: Infinity, entries: MOST_ENTRIES };
  for (const word of new Set(words)) {
    const path = resolve(agentFolder, word);
    const inside = relative(agentFolder, path);
    if (inside.startsWith('..') || inside.startsWith('/') || isInstalled(agentFolder, inside)) continue;
    addFiles(found, agentFolder, inside, room);
  }
  return found;
}

/** Whether a file lies in a virtual environment: its programs name the folder that they were installed in. */
const isInstalled = (agentFolder: string, name: string): boolean =>
  name.split('/').some((_, place, parts) => existsSync(join(agentFolder, ...parts.slice(0, place + 1), 'pyvenv.cfg')));

/**
 * All files of a folder that `hashesOfNamedFiles` would read, with their hashes.
 * @throws NamedFilesError if they are too many, or too large.
 */
export function filesOfFolder(folder: string): Record<string, string> {
  const found = none();
  const room = { bytes: MOST_BYTES, entries: MOST_ENTRIES };
  addFiles(found, existsSync(folder) ? realpathSync(folder) : folder, '', room);
  return found;
}

/** No files. An object without a prototype: a file may have any name. */
const none = () => Object.create(null) as Record<string, string>;

/** @param room how much more may be read and looked at. */
function addFiles(
  found: Record<string, string>,
  folder: string,
  name: string,
  room: { bytes: number; entries: number },
): void {
  const path = join(folder, name);
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (Object.keys(found).length >= MOST_FILES)
    throw new NamedFilesError(`${folder}: the command names more than ${MOST_FILES} files of this folder.`);
  if (--room.entries < 0)
    throw new NamedFilesError(
      `${folder}: the command names more than ${MOST_ENTRIES} files and folders of this folder.`,
    );
  if (status.isFile() && (room.bytes -= status.size) < 0)
    throw new NamedFilesError(`${folder} has more than ${MOST_BYTES} bytes.`);
  if (status.isSymbolicLink()) found[name] = `link to ${withoutFolder(readlinkSync(path), folder)}`;
  else if (status.isFile()) found[name] = createHash('sha256').update(readBounded(path, LARGEST_BYTES)).digest('hex');
  else if (status.isDirectory()) {
    const entries = entriesOf(path);
    if (entries.includes('pyvenv.cfg')) return;
    for (const entry of entries) if (!MADE.has(entry)) addFiles(found, folder, join(name, entry), room);
  }
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
