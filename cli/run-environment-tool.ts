import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { EnvironmentToolLine } from '../contracts/messages/environment-tool';
import { projectRoot } from '../contracts/project-root';
import { textLines } from '../contracts/text-lines';
import { CliError } from './errors';
import { standardError } from './output';

/** Runs `environment-tool` to its end and returns its exit code. @throws CliError if the tool reports a failure. */
export async function runEnvironmentTool(args: string[], onLine: (line: EnvironmentToolLine) => void): Promise<number> {
  const script = join(projectRoot(), 'dist', 'environment-tool', 'main.js');
  const child = spawn(process.execPath, ['--enable-source-maps', script, ...args], {
    stdio: ['inherit', 'pipe', 'pipe'],
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => standardError.write(text));
  let failure: Extract<EnvironmentToolLine, { type: 'error' }> | null = null;
  const ended = new Promise<number>((done) => child.once('close', (code) => done(code ?? 1)));
  for await (const text of textLines(child.stdout)) {
    const line = JSON.parse(text) as EnvironmentToolLine;
    if (line.type === 'error' && line.failure !== undefined) failure = line;
    else onLine(line);
  }
  const code = await ended;
  if (failure !== null) throw new CliError(failure.message, { type: failure.failure ?? 'Env.Failed' });
  return code;
}
