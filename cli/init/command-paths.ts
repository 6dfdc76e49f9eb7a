import { existsSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import { entryAt, isWithin, realPlace } from '../../contracts/paths';
import { CliError } from '../errors';

/** Files that are written for every command. */
const GENERATED = ['agent.yaml', 'tasks.jsonl'];

/** Folders of the system: the jail shows some of them to every command, and the others to none. */
const SYSTEM = /^\/(usr|s?bin|lib\w*|dev|etc|proc|sys|run)(\/|$)/;

/** A command as agent.yaml has it, which starts in the new folder. */
export interface PlacedCommand {
  words: string[];
  /** Files that are copied to the same relative paths. */
  copied: string[];
  /** What else it names: absolute paths of the folders that it must be shown. */
  folders: string[];
}

/**
 * Finds what a command names. Files at relative paths below `from` are copied. For others the word becomes a whole
 * path, and the folder that it lies in is shown: of a virtual environment all of it.
 * @param folder of the new agent.
 * @throws CliError (exit 2) for a path in a folder that the new one lies in: no command is shown that much.
 */
export function placeCommand(
  words: readonly string[],
  { folder, from }: { folder: string; from: string },
): PlacedCommand {
  const placed: PlacedCommand = { words: [], copied: [], folders: [] };
  const folders = new Set<string>();
  for (const word of words) {
    const path = resolve(from, word);
    const found = entryAt(path);
    const relative = normalize(word);
    const isCopied =
      !isAbsolute(word) && found?.isFile() === true && isWithin(relative, '.') && !GENERATED.includes(relative);
    const isNamed = found !== undefined && !isCopied && word.includes('/');
    placed.words.push(isNamed ? path : word);
    if (isCopied) placed.copied.push(relative);
    if (!isNamed || SYSTEM.test(path)) continue;
    const shown = folderOf(path);
    if (!isWithin(folder, realPlace(shown))) folders.add(shown);
    // Such as `--root /`, which may be no file to open.
    else if (shown !== path || !isAbsolute(word)) throw tooMuch(word, shown);
  }
  placed.folders = [...folders].filter((one) => ![...folders].some((other) => other !== one && isWithin(one, other)));
  return placed;
}

/** The folder to show for a path: it, the virtual environment whose program it is, or the one it lies in. */
function folderOf(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return path;
  const environment = dirname(dirname(path));
  return existsSync(join(environment, 'pyvenv.cfg')) ? environment : dirname(path);
}

const tooMuch = (word: string, shown: string): CliError =>
  new CliError(
    `--command: ${JSON.stringify(word)} is in ${shown}, which the command cannot be shown: the new folder lies in it. ` +
      'Move it to a folder of its own; or start `whet init` there, and name it by its file name: then a file is ' +
      'copied, but no link.',
    { type: 'Cli.Usage' },
  );
