import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  chmodSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CliError } from '../errors';

/** A file to write: its text, or the file that is copied. */
export type NewFile = { text: string } | { copyOf: string };

/** @throws CliError (exit 2) if there is something at this path other than an empty folder. */
export function refuseExisting(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isDirectory()) throw exists(folder, 'is a file or a link');
  const inside = readdirSync(folder);
  if (inside.length > 0) throw exists(folder, `has files, such as ${inside.sort()[0]}`);
}

/**
 * Writes a folder as a whole: it is filled under another name beside its place, and then renamed.
 * @param files by their paths in the folder.
 * @param check is called with the filled folder before it is renamed. What it throws leaves nothing behind.
 * @throws CliError (exit 2) if there is something at this path other than an empty folder.
 */
export function writeFolder(
  folder: string,
  files: ReadonlyMap<string, NewFile>,
  check: (unfinished: string) => void,
): void {
  refuseExisting(folder);
  const unfinished = mkdtempSync(join(dirname(folder), `.${basename(folder)}.`));
  try {
    for (const [name, file] of files) {
      const path = join(unfinished, name);
      mkdirSync(dirname(path), { recursive: true });
      if ('text' in file) writeFileSync(path, file.text, { flag: 'wx' });
      else copyFileSync(file.copyOf, path);
    }
    check(unfinished);
    // Folders for temporary files are closed to other users, and a jail may run as another one.
    chmodSync(unfinished, 0o777 & ~process.umask());
    moveTo(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** A rename replaces an empty folder, and nothing else. */
function moveTo(unfinished: string, folder: string): void {
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(code)) throw error;
    throw exists(folder, 'was just made by another program');
  }
}

const exists = (folder: string, what: string): CliError =>
  new CliError(`${folder} ${what}, and nothing is overwritten. Choose another name, or move it away.`, {
    type: 'Init.Exists',
  });
