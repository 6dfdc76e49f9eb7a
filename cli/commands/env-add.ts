import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';
import type { Context } from '../context';
import { CliError } from '../errors';

const SUFFIX = '.lock';

/**
 * `whet env add NAME`: makes the virtual environment of a target from its lock file, with the hash of every package,
 * and prints its path. One that was made from the same lock is used again.
 * @throws CliError if there is no such lock, or a package could not be installed.
 */
export async function envAddCommand({ settings, out }: Context, name: string): Promise<void> {
  const locks = join(projectRoot(), 'targets', 'locks');
  const names = readdirSync(locks).flatMap((file) => (file.endsWith(SUFFIX) ? [file.slice(0, -SUFFIX.length)] : []));
  if (!names.includes(name))
    throw new CliError(`There is no target ${JSON.stringify(name)}. There is: ${names.join(', ')}.`, {
      type: 'Env.NoTarget',
    });
  const lock = join(locks, `${name}${SUFFIX}`);
  const { python, isOfSystem } = pythonForTargets();
  const sha256 = createHash('sha256').update(readFileSync(lock)).update(realpathSync(python)).digest('hex');
  const folder = join(settings.home, 'environments');
  const venv = join(folder, `${name}-${sha256.slice(0, 12)}`);
  if (!existsSync(venv)) await makeVenv({ venv, lock, python, note: (line) => out.line(line) });
  const lines = [`kind: ${name}`, `venv: ${venv}`].map((line) => `    ${line}`);
  if (!isOfSystem)
    lines.push(`Its Python, ${python}, is not one of the system: environment.folders has to name the folder of it.`);
  out.result({ name, venv, python }, ['  environment:', ...lines].join('\n'));
}

/** The Python of the system, which every jail shows; without one that of this project. */
function pythonForTargets(): { python: string; isOfSystem: boolean } {
  const places = ['/usr/bin', '/usr/local/bin'];
  const names = ['python3.11', 'python3.12', 'python3.13'];
  const found = names.flatMap((name) => places.map((place) => join(place, name))).find((path) => existsSync(path));
  if (found !== undefined && realpathSync(found).startsWith('/usr/')) return { python: found, isOfSystem: true };
  return { python: join(projectRoot(), '.toolchain', 'venv', 'bin', 'python'), isOfSystem: false };
}

/** Installs what a lock names, where nobody has done so meanwhile. */
async function makeVenv({
  venv,
  lock,
  python,
  note,
}: {
  venv: string;
  lock: string;
  python: string;
  note: (line: string) => void;
}): Promise<void> {
  const uv = join(projectRoot(), '.toolchain', 'venv', 'bin', 'uv');
  if (!existsSync(uv)) throw new CliError(`There is no ${uv}. \`make setup\` installs it.`, { type: 'Env.NotAdded' });
  await madeWhole(venv, async (unfinished) => {
    note(`installing what ${lock} names`);
    await run(uv, ['venv', '--quiet', '--relocatable', '--python', python, unfinished]);
    // Where modules are not compiled, every start of a process would compile them: 40 s instead of 7 s.
    const options = ['--require-hashes', '--compile-bytecode', '--python', join(unfinished, 'bin', 'python')];
    await run(uv, ['pip', 'install', '--quiet', ...options, '--requirement', lock]);
  });
}

/**
 * Makes a folder under another name first, so that one that exists is whole. Of several who make it at a time the first
 * one's is kept, and none fails because of the others.
 * @param make fills the folder that it gets, which does not exist yet.
 */
export async function madeWhole(folder: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o755 });
  // A process id is not enough: processes of several containers may share a home.
  const own = mkdtempSync(join(dirname(folder), `.${basename(folder)}-`));
  try {
    const unfinished = join(own, basename(folder));
    await make(unfinished);
    await rename(unfinished, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** Runs a program. Its output goes to standard error. */
async function run(program: string, words: string[]): Promise<void> {
  const code = await new Promise<number | null>((resolve, reject) => {
    const child = spawn(program, words, { stdio: ['ignore', 2, 2] });
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0)
    throw new CliError(`${[program, ...words].join(' ')} ended with code ${code}; its words are above.`, {
      type: 'Env.NotAdded',
    });
}
