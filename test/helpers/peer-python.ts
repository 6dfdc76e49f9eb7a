import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Directory `bin` of a virtual environment with the packages of a requirements file, which the project itself does not
 * need. It is made once per content of the file. Rejects with uv's message when the packages cannot be installed.
 */
export async function peerPython(projectRoot: string, requirements: string): Promise<string> {
  const sha256 = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex');
  const folder = join(projectRoot, '.whetstone', 'peers', sha256.slice(0, 12));
  const done = join(folder, 'done');
  if (!existsSync(done)) {
    const venv = join(projectRoot, '.toolchain', 'venv', 'bin');
    await rm(folder, { recursive: true, force: true });
    await run(join(venv, 'uv'), ['venv', '--quiet', '--python', join(venv, 'python'), folder]);
    await run(join(venv, 'uv'), [
      'pip',
      'install',
      '--quiet',
      '--python',
      join(folder, 'bin', 'python'),
      '-r',
      requirements,
    ]);
    await writeFile(done, sha256);
  }
  return join(folder, 'bin');
}
