import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectRoot } from '../contracts/project-root';

/**
 * The Temporal CLI: TEMPORAL_CLI_PATH, then `temporal` on PATH, then the one that setup installed. Null when there is
 * none.
 */
export function temporalExecutable(env: NodeJS.ProcessEnv = process.env): string | null {
  const fromPath = (env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'temporal'));
  const candidates = [
    env['TEMPORAL_CLI_PATH'],
    ...fromPath,
    join(projectRoot(), '.toolchain', 'venv', 'bin', 'temporal'),
  ];
  return candidates.find((path) => path !== undefined && existsSync(path)) ?? null;
}
