import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Text of a Python file of this folder. The build leaves it in the source tree: beside this one, or above its copy. */
export function readPythonSource(file: 'inspect_source.py' | 'kept_state.py'): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    for (const path of [join(folder, file), join(folder, 'activities', 'environment-checks', file)]) {
      if (existsSync(path)) return readFileSync(path, 'utf8');
    }
    if (folder === dirname(folder))
      throw new Error(
        `activities/environment-checks/${file} was not found. Install the whole project, not only dist/.`,
      );
  }
}
