import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Finds the project's directory: the nearest one above this file that holds package.json. The result is the same for
 * the sources and for their compiled copies in `dist/`. Files that are not compiled (Python, JSON profiles, system call
 * filters, examples) are found from here.
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
