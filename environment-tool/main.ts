/**
 * Entry point of `whet env check`, `whet env run`, `whet env tasks`, `whet validate` and `whet run --dry-run`. The
 * command line starts it as a process of its own: they need the jail and the checks of `activities/`, which the command
 * line does not import.
 *
 *     node dist/environment-tool/main.js check FILE AGENT_YAML | play FILE SEED [--reference]
 *     | try AGENT_YAML [SECONDS] | tasks AGENT_YAML | ranges AGENT_YAML
 *
 * Standard output has one EnvironmentToolLine a line. Exit code 0: done, and every check passed. 1: a check failed.
 * 3: it could not be done; the last line says why.
 */
import { AgentSpecError } from '../loaders/agent-spec';
import { SandboxError } from '../sandbox';
import { checkEnvironment } from './check-environment';
import { writeLine, writeRanges } from './output';
import { listTasks } from './list-tasks';
import { playEpisode } from './play-episode';
import { readAgent } from './read-agent';
import { tryEnvironment } from './try-environment';

async function main([command, file = '', ...rest]: string[]): Promise<number> {
  if (command === 'check') return (await checkEnvironment(file, rest[0] ?? '')) ? 0 : 1;
  if (command === 'try') {
    await tryEnvironment(file, rest[0] === undefined ? undefined : Number(rest[0]));
    return 0;
  }
  if (command === 'tasks') {
    await listTasks(file);
    return 0;
  }
  if (command === 'ranges') {
    writeRanges((await readAgent(file)).spec);
    return 0;
  }
  await playEpisode(file, Number(rest[0]), rest.includes('--reference'));
  return 0;
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    writeLine({
      type: 'error',
      message: error instanceof Error ? error.message : String(error),
      failure: error instanceof SandboxError || error instanceof AgentSpecError ? error.type : 'Env.Failed',
    });
    process.exitCode = 3;
  },
);
