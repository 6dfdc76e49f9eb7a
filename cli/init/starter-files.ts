import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { projectRoot } from '../../contracts/project-root';
import { CliError } from '../errors';
import { type PlacedCommand, placeCommand } from './command-paths';
import type { NewFile } from './new-folder';
import type { InitAnswers } from './questions';

/** The folders of `examples/` that are written, with the names and the model that the answers replace. */
const TEMPLATES = { module: 'smallest', command: 'smallest-program' } as const;

/**
 * The files of a new agent, by their paths in its folder. They are those of the smallest examples, with the name and
 * the model of this agent.
 * @param folder of the agent.
 * @param from where relative paths of the answers begin.
 * @throws CliError (exit 2) if an answer names a file that can be neither copied nor shown.
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
  const setCommand = ({ words, copied, folders }: PlacedCommand): void => {
    agent.setIn(['environment', 'command'], agent.createNode(words, { flow: true }));
    if (folders.length > 0) agent.setIn(['environment', 'folders'], folders);
    for (const path of copied) written.set(path, { copyOf: resolve(from, path) });
  };
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
      setCommand(placeCommand(kind.words, { folder, from }));
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

/** @throws CliError */
function fileToCopy(flag: string, file: string, from: string): string {
  const path = resolve(from, file);
  if (isFile(path)) return path;
  throw new CliError(`${flag}: there is no file ${path}.`, { type: 'Cli.Usage' });
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
