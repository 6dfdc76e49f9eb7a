import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../contracts/project-root';
import { SandboxUnavailable } from './errors';
import { findProgram } from './find-program';

const run = promisify(execFile);
const roots = new Map<string, { built: Promise<string>; at: number }>();
/**
 * The next build removes trees that no start has touched for 14 days (stale_trees.py). A worker may run longer than
 * that, so it touches its tree again after this time.
 */
const TOUCH_AGAIN_MS = 24 * 60 * 60 * 1000;

/**
 * The Python that environments run on: WHET_PYTHON, the project's virtual environment, `python3` on PATH.
 * @throws SandboxUnavailable when there is none.
 */
export function pythonInterpreter(): string {
  const chosen = process.env['WHET_PYTHON'];
  if (chosen) return chosen;
  const own = join(projectRoot(), '.toolchain', 'venv', 'bin', 'python3');
  const found = existsSync(own) ? own : findProgram('python3');
  if (!found)
    throw new SandboxUnavailable(['There is no python3 on PATH: install Python 3.11 or newer, or set WHET_PYTHON.']);
  return found;
}

/**
 * The jail's file tree for an interpreter (see trainer-image/whetstone/envs/python_root.py), built on the first call:
 * about 3 s once per interpreter, 0.1 s once per process and day.
 * @throws SandboxUnavailable when it cannot be built.
 */
export function pythonRoot(interpreter: string = pythonInterpreter()): Promise<string> {
  const key = `${interpreter}\0${process.env['WHET_JAIL_ROOT'] ?? ''}`;
  const known = roots.get(key);
  if (known && Date.now() - known.at < TOUCH_AGAIN_MS) return known.built;
  const builder = join(projectRoot(), 'trainer-image', 'whetstone', 'envs', 'python_root.py');
  const built = run(interpreter, ['-I', builder], { timeout: 120_000, env: process.env }).then(
    ({ stdout }) => stdout.trim(),
    (error: Error & { stderr?: string }) => {
      roots.delete(key);
      throw new SandboxUnavailable([
        `The jail's Python tree could not be built. ${(error.stderr || error.message).trim()}`,
      ]);
    },
  );
  roots.set(key, { built, at: Date.now() });
  return built;
}
