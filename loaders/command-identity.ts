import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { projectRoot } from '../contracts/project-root';
import { filesOfFolder, hashesOfNamedFiles, NamedFilesError } from './named-files';

/** A command with a second one that scores it, or no words; and what both see of the machine. */
interface Commands {
  command: readonly string[];
  score: readonly string[];
  variables: Readonly<Record<string, string>>;
  /** Absolute paths. */
  agentFolder: string;
  folders: readonly string[];
}

/**
 * What identifies commands, wherever their folders lie on a machine: words and variables with names in place of the
 * folders' paths, the files of the agent's folder that they name, and what the other folders hold. Of a virtual
 * environment these are its packages; a folder of the system, and one that cannot be read, count by their paths.
 * @param asksPackages whether the process says itself which packages decide an episode: then no others count.
 * @throws NamedFilesError as `hashesOfNamedFiles` does.
 */
export function commandIdentity({ command, score, variables, agentFolder, folders }: Commands, asksPackages: boolean) {
  const places: [path: string, name: string][] = [
    [agentFolder, '.'],
    ...folders.filter(isOwn).map((folder, place): [string, string] => [folder, `<folder ${place}>`]),
  ];
  // A folder within another one comes first.
  places.sort(([one], [other]) => other.length - one.length);
  const named = (text: string): string => places.reduce((so, [path, name]) => withName(so, path, name), text);
  const all = [...command, ...score];
  const environments = asksPackages ? [] : [command, score].flatMap(([program]) => environmentOf(program, agentFolder));
  return {
    command: command.map(named),
    score: score.map(named),
    variables: Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, named(value)])),
    files: hashesOfNamedFiles(all, agentFolder),
    folders: folders.map((folder) => contentOf(folder, asksPackages)),
    packages: environments.map(packagesOf),
  };
}

/** Whether a folder is not one of the system's, whose paths are the same everywhere. */
const isOwn = (folder: string): boolean => !/^\/(usr|s?bin|lib\w*)(\/|$)/.test(folder);

/** The text with a name in place of a folder's path, where this stands for the folder or for something in it. */
function withName(text: string, path: string, name: string): string {
  let named = '';
  for (let from = 0; ;) {
    const at = text.indexOf(path, from);
    if (at === -1) return named + text.slice(from);
    const end = at + path.length;
    const isWhole = /^$|[^\w./-]/.test(text.charAt(at - 1)) && /^$|[^\w.-]/.test(text.charAt(end));
    named += text.slice(from, at) + (isWhole ? name : path);
    from = end;
  }
}

/** The virtual environment whose program this is; none: an empty list. */
function environmentOf(program: string | undefined, agentFolder: string): string[] {
  if (program === undefined || !program.includes('/')) return [];
  const folder = dirname(dirname(resolve(agentFolder, program)));
  return isEnvironment(folder) ? [folder] : [];
}

const isEnvironment = (folder: string): boolean => existsSync(join(folder, 'pyvenv.cfg'));

/** The packages of a virtual environment, by the folders in which installers describe them, below their Python's. */
function packagesOf(environment: string): string[] {
  const names = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder).sort() : []);
  return names(join(environment, 'lib')).flatMap((python) =>
    names(join(environment, 'lib', python, 'site-packages'))
      .filter((name) => /\.(dist|egg)-info$/.test(name))
      .map((name) => `${python}/${name}`),
  );
}

function contentOf(folder: string, asksPackages: boolean): unknown {
  if (!isOwn(folder)) return folder;
  if (isEnvironment(folder)) return asksPackages ? 'packages' : packagesOf(folder);
  // This project's own library for processes is part of the program, as the runtime of modules is.
  if (folder === join(projectRoot(), 'targets')) return 'library';
  try {
    return filesOfFolder(folder);
  } catch (error) {
    if (error instanceof NamedFilesError) return folder;
    throw error;
  }
}
