import { join, resolve } from 'node:path';
import { agentNameSchema } from '../../contracts/config/agent-name';
import { projectRoot } from '../../contracts/project-root';
import { AgentSpecError, loadAgentSpec } from '../../loaders/agent-spec';
import type { Context } from '../context';
import { CliError } from '../errors';
import { refuseExisting, writeFolder } from '../init/new-folder';
import { answersOf, type InitAnswers, type InitFlags } from '../init/questions';
import { starterFiles } from '../init/starter-files';
import { ownTerminal } from '../output';

/**
 * `whet init NAME`: asks in a terminal what there is, as far as the flags do not say it, and writes the smallest
 * agent.yaml and what it needs into the new folder NAME. Then `whet validate` accepts it. With --json nothing is asked,
 * and what was written is printed.
 * @param terminal default: that of this process.
 * @throws CliError (exit 2) for a wrong name or flag, a folder that has files, and, where nobody can answer, with the
 *   flag that is missing. Then nothing is written.
 */
export async function initCommand(
  { settings, out }: Context,
  name: string,
  { json, ...flags }: InitFlags & { json?: boolean },
  terminal = ownTerminal(),
): Promise<void> {
  const { success, error } = agentNameSchema.safeParse(name);
  if (!success)
    throw new CliError(`The name ${JSON.stringify(name)} is not allowed. Allowed: ${error.issues[0]!.message}.`, {
      type: 'Cli.Usage',
    });
  const from = process.cwd();
  const folder = join(from, name);
  refuseExisting(folder);
  const answers = await answersOf(flags, { ...terminal, isInteractive: terminal.isInteractive && json !== true });
  const files = starterFiles(name, answers, { folder, from });
  writeFolder(folder, files, (unfinished) => checkAgent(unfinished, answers));
  const next = nextCommands(name, answers, from);
  const names = [...files.keys()];
  const lines = [`wrote ${name}: ${names.join(', ')}`, '', 'Next:', ...next.map((command) => `  ${command}`)];
  const hint = 'A run asks an analyst: set OPENAI_API_KEY before `whet up` (docs/guides/your-own-agent.md).';
  out.result(
    { name, folder, files: names, next },
    [...lines, ...(settings.analystConfigured ? [] : [hint])].join('\n'),
  );
}

/** @throws CliError (exit 2) for answers that agent.yaml does not allow. Files of a benchmark may come later. */
function checkAgent(folder: string, { kind }: InitAnswers): void {
  if (kind.starts === 'benchmark') return;
  try {
    loadAgentSpec(join(folder, 'agent.yaml'));
  } catch (error) {
    if (!(error instanceof AgentSpecError)) throw error;
    const problems = error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw new CliError([...problems, 'Nothing was written.'].join('\n'), { type: 'Cli.Usage', cause: error });
  }
}

/** The commands to type next, as the shell of this folder takes them. */
function nextCommands(name: string, { kind }: InitAnswers, from: string): string[] {
  const whet = resolve(from) === projectRoot() ? './whet' : forShell(join(projectRoot(), 'whet'));
  const before = kind.starts === 'benchmark' ? kind.benchmark.before : [];
  const agent = `${name}/agent.yaml`;
  return [
    ...before.map((line) => line.replaceAll('WHET', () => whet).replaceAll('FOLDER', () => name)),
    `${whet} validate ${agent}`,
    `${whet} up ${agent}`,
    `${whet} run ${agent} --follow`,
  ];
}

const forShell = (path: string): string => (/^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
