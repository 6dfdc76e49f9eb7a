import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';
import { CliError } from '../errors';

/**
 * Path of the Temporal CLI: TEMPORAL_CLI_PATH, else `temporal` on the PATH, else the CLI that `make setup` installed.
 * Null if there is none.
 */
export function findTemporalCli(): string | null {
  const fromPath = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'temporal'));
  const installed = join(projectRoot(), '.toolchain', 'venv', 'bin', 'temporal');
  const candidates = [process.env['TEMPORAL_CLI_PATH'], ...fromPath, installed];
  return candidates.find((path) => path !== undefined && existsSync(path)) ?? null;
}

/** Like `findTemporalCli`. @throws CliError if there is none, or if TEMPORAL_CLI_PATH is not a file. */
export function requireTemporalCli(): string {
  const explicit = process.env['TEMPORAL_CLI_PATH'];
  if (explicit && !existsSync(explicit)) {
    throw new CliError(
      `TEMPORAL_CLI_PATH is ${explicit}, which does not exist. ` +
        'Correct it, or unset it to use the one that `make setup` installs.',
      { type: 'Settings.Invalid' },
    );
  }
  const found = findTemporalCli();
  if (found === null)
    throw new CliError('The Temporal CLI is missing. Run `make setup`, or set TEMPORAL_CLI_PATH to it.', {
      type: 'Temporal.CliMissing',
    });
  return found;
}

/**
 * The Python of the policy server, the trainer and recipes: WHET_PYTHON, else the project's environment, else `python3`
 * on the PATH.
 */
export function pythonCommand(): string {
  const own = join(projectRoot(), '.toolchain', 'venv', 'bin', 'python');
  return process.env['WHET_PYTHON'] || (existsSync(own) ? own : 'python3');
}

/**
 * The Python with vLLM: WHET_VLLM_PYTHON, else the one that scripts/vllm.sh installed. The package
 * `whetstone.sampling.vllm_command` looks in the same places.
 * @throws CliError if there is none; nothing has been started by then.
 */
export function requireVllmPython(): string {
  const named = process.env['WHET_VLLM_PYTHON'];
  const python = named || join(projectRoot(), '.toolchain', 'vllm', 'bin', 'python');
  try {
    accessSync(python, constants.X_OK);
    return python;
  } catch {
    throw new CliError(
      named
        ? `WHET_VLLM_PYTHON is ${named}, which is no program. Set it to a Python that has vLLM.`
        : 'model.server is vllm, and there is no vLLM to start. Run `scripts/vllm.sh`, which installs one for ' +
            'processors (6 GB), or set WHET_VLLM_PYTHON to a Python that has vLLM.',
      { type: 'Up.VllmMissing' },
    );
  }
}
