import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const programs = new Map<string, string>();

/**
 * Looks a program up on PATH, and in the sbin folders. A program that was found is remembered, because trying many
 * directories costs more than everything else around a start.
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
