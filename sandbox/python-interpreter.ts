import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectRoot } from '../contracts/project-root';
import { SandboxUnavailable } from './errors';

/**
 * The Python for environments: WHET_PYTHON, else the project's virtual environment, else `python3` on PATH.
 * @throws SandboxUnavailable if there is none.
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

/** Absolute path of a program on PATH; null if there is none. */
function findProgram(name: string): string | null {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    if (!directory.startsWith('/')) continue;
    const candidate = join(directory, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      continue;
    }
  }
  return null;
}
