import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/**
 * The project's directory: the nearest one above this file that holds `sandbox/profile.json`. The same from
 * `sandbox/*.ts` and from `dist/sandbox/*.js`, because JSON profiles, filters and Python files are not compiled.
 * @throws Error when the files were not installed with the program.
 */
export function projectRoot(): string {
  for (let directory = __dirname; ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'sandbox', 'profile.json'))) return directory;
    if (directory === dirname(directory)) {
      throw new Error(
        `sandbox/profile.json was not found above ${__dirname}. Install the whole project, not only its compiled files.`,
      );
    }
  }
}

/** The Python file that serves environments. */
export function runtimePath(): string {
  return join(projectRoot(), 'trainer-image', 'whetstone', 'envs', 'runtime', '__main__.py');
}

const programs = new Map<string, string>();

/**
 * Looks a program up on PATH. What was found once is remembered: a failed look into a directory costs more than all
 * else around a start.
 * @returns its absolute path, or null when there is none.
 */
export function findProgram(name: string, path: string = process.env['PATH'] ?? ''): string | null {
  const key = `${name}\0${path}`;
  const found = programs.get(key) ?? lookUp(name, path);
  if (found !== null) programs.set(key, found);
  return found;
}

function lookUp(name: string, path: string): string | null {
  // prlimit and friends live in sbin on some systems, which service managers leave out of PATH.
  for (const directory of [...path.split(delimiter), '/usr/sbin', '/sbin']) {
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
