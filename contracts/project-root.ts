import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Finds the project's directory: the nearest directory above this file that contains package.json. The result is the
 * same for the sources and for the compiled files in `dist/`. This directory is the base for files that are not
 * compiled (Python, JSON profiles, system call filters, examples).
 * @throws Error when only the compiled files were installed.
 */
export function projectRoot(): string {
  for (let directory = __dirname; ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'package.json'))) return directory;
    if (directory === dirname(directory)) {
      throw new Error(
        `package.json was not found above ${__dirname}. Install the whole project, not only its compiled files.`,
      );
    }
  }
}
