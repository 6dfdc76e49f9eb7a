import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isAbsolute, join, normalize, relative, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { entryAt, isWithin } from '../../contracts/paths';
import { projectRoot } from '../../contracts/project-root';
import { CliError } from '../errors';
import type { NewFile } from './new-folder';
import type { InitAnswers } from './questions';

/** The folders of `examples/` that are written, with the names and the model that the answers replace. */
const TEMPLATES = { module: 'smallest', command: 'smallest-program' } as const;

/** Files that are written for every command. */
const GENERATED = ['agent.yaml', 'tasks.jsonl'];

/**
 * The files of a new agent, by their paths in its folder. They are those of the smallest examples, with the name and
 * the model of this agent.
 * @param folder of the agent.
 * @param from where relative paths of the answers begin.
 * @throws CliError (exit 2) if an answer names a file that cannot be copied.
 */
export function starterFiles(
  name: string,
  { kind, model }: InitAnswers,
  { folder, from }: { folder: string; from: string },
): Map<string, NewFile> {
  const isCommand = kind.starts === 'new-program' || kind.starts === 'command';
  const { files, name: templateName } = readTemplate(isCommand ? TEMPLATES.command : TEMPLATES.module);
  const agent = parseDocument(files.get('agent.yaml')!);
  agent.set('name', name);
  agent.setIn(['model', 'name'], model.name);
  agent.setIn(['model', 'path'], resolve(from, model.path));
  agent.setIn(['model', 'baseUrl'], model.baseUrl);
  const written = new Map<string, NewFile>();
  for (const [path, text] of files) written.set(path, { text: text.replaceAll(`"${templateName}"`, `"${name}"`) });
  written.delete('agent.yaml');
  if (kind.starts !== 'gateway') written.delete('client.py');
  switch (kind.starts) {
    case 'gateway':
    case 'new-program':
      break;
    case 'python':
      written.set('environment.py', { copyOf: fileToCopy('--python', kind.file, from) });
      break;
    case 'command':
      // They are about parcels.
      for (const path of ['agent.py', 'scripted_model.py']) written.delete(path);
      agent.setIn(['environment', 'command'], agent.createNode(kind.words, { flow: true }));
      for (const path of namedFiles(kind.words, from)) written.set(path, { copyOf: resolve(from, path) });
      break;
    case 'benchmark':
      written.clear();
      agent.set('environment', agent.createNode({ kind: kind.benchmark.kind, ...kind.benchmark.section }));
  }
  const schema = join(projectRoot(), 'dist', 'schemas', 'agent.schema.json');
  const text = agent
    .toString({ lineWidth: 120 })
    .replace(/\$schema=.*/, () => `$schema=${relative(folder, schema)}`)
    // As the formatter of this project writes lists.
    .replace(/^( {2}command: )\[ (.*) \]$/m, '$1[$2]');
  return new Map([['agent.yaml', { text }], ...written].sort(([a], [b]) => (a < b ? -1 : 1)) as [string, NewFile][]);
}

/** The files of an example, and the name of its agent. */
function readTemplate(example: string): { files: Map<string, string>; name: string } {
  const folder = join(projectRoot(), 'examples', example);
  const names = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
  const files = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  return { files, name: String(parseDocument(files.get('agent.yaml')!).get('name')) };
}

/**
 * The files that a command names by relative paths. They are copied, because it starts in the folder of agent.yaml.
 * @throws CliError for a path that has no place there: one that leads out of this folder, or is a link.
 */
function namedFiles(words: readonly string[], from: string): string[] {
  return words.flatMap((word) => {
    const found = isAbsolute(word) ? undefined : entryAt(resolve(from, word));
    const path = normalize(word);
    const canCopy = found?.isFile() === true && isWithin(path, '.') && !GENERATED.includes(path);
    if (found !== undefined && !canCopy && word.includes('/'))
      throw new CliError(
        `--command: ${JSON.stringify(word)} cannot be copied into the new folder. Name it by its whole path, ` +
          `${resolve(from, word)}.`,
        { type: 'Cli.Usage' },
      );
    return canCopy ? [path] : [];
  });
}

/** @throws CliError */
function fileToCopy(flag: string, file: string, from: string): string {
  const path = resolve(from, file);
  if (isFile(path)) return path;
  throw new CliError(`${flag}: there is no file ${path}.`, { type: 'Cli.Usage' });
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
