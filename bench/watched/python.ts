import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';

/** Standard output of a script of this folder. @throws Error with the last line of its messages if it fails. */
export async function benchOutput(script: string, words: readonly string[]): Promise<string> {
  const root = projectRoot();
  const child = spawn(
    join(root, '.toolchain', 'venv', 'bin', 'python'),
    ['-W', 'ignore', join(root, 'bench', 'watched', script), ...words],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PYTHONPATH: join(root, 'trainer-image'), HF_HUB_OFFLINE: '1' },
    },
  );
  let output = '';
  let messages = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (messages += part));
  const code = await new Promise((done) => child.once('close', done));
  if (code !== 0)
    throw new Error(`${script} ended with code ${String(code)}: ${messages.trim().split('\n').at(-1) ?? ''}`);
  return output;
}
