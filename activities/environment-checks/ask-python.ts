import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import type { OpenEnvironment } from '../environment';

/** Files whose functions a file uses: they stand before it. */
const PRECEDING = { 'inspect_source.py': ['fold_constants.py'], 'kept_state.py': [] } as const;

/**
 * Runs a Python file of this folder as an environment in its own jail, and returns the value of its function `answer`.
 * @param name name of the process, for messages.
 * @throws SandboxError when the call's input crashes that process.
 */
export async function askPython<T>(
  openEnvironment: OpenEnvironment,
  file: keyof typeof PRECEDING,
  name: string,
  given: Record<string, unknown>,
  answerSchema: z.ZodType<T>,
): Promise<T> {
  const source = [...PRECEDING[file], file, 'answering_environment.py'].map(readPythonSource).join('\n\n');
  const environment = await openEnvironment({ source, trust: 'synthesised', name });
  try {
    await environment.reset('ask', 0);
    const { observations } = await environment.step('ask', [{ name: 'ask', arguments: given }]);
    return answerSchema.parse(JSON.parse(observations[0] ?? 'null'));
  } finally {
    await environment.close();
  }
}

/**
 * Text of a Python file of this folder. The build does not copy it: it is in this folder, or in the source tree above
 * the compiled copy.
 */
function readPythonSource(file: string): string {
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
