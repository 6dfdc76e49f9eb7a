import { dirname, resolve } from 'node:path';
import { isPlayable, NOTHING_PLAYS, playedAs } from '../contracts/config/environment-kinds';
import { AgentSpecError, parseAgentSpec } from '../loaders/agent-spec';
import { LARGEST_SOURCE_BYTES, readBounded, UnreadableFileError } from '../loaders/read-bounded';
import { CliError } from './errors';

const PYTHON = 'Name a Python file with class Environment';

/** Path and content of a Python file. @throws CliError (exit 2) if it cannot be read, and for an agent.yaml. */
export function environmentFile(file: string): { path: string; content: Buffer } {
  const path = resolve(file);
  try {
    const content = readBounded(path, LARGEST_SOURCE_BYTES);
    if (/\.ya?ml$/.test(path)) throw new CliError(noPython(path), { type: 'Env.NoFile' });
    return { path, content };
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    throw new CliError(`${path}: ${error.sentence} ${PYTHON}.`, { type: 'Env.NoFile' });
  }
}

/** Why an agent.yaml is no environment, by the kind of the one that it names, and what plays that. */
function noPython(path: string): string {
  try {
    const { environment } = parseAgentSpec(path);
    if (!isPlayable(environment)) return `${path}: environment: ${NOTHING_PLAYS}`;
    const played = playedAs(environment);
    if ('path' in played)
      return `${path}: is no Python file. Its environment is one: name ${resolve(dirname(path), played.path)}.`;
    const plays = 'processes' in played ? 'plays some of its tasks' : 'plays one task of it';
    return (
      `${path}: its environment is of kind ${environment.kind}, a command and no Python class. ` +
      `\`whet validate ${path}\` ${plays}.`
    );
  } catch (error) {
    if (!(error instanceof AgentSpecError)) throw error;
    return `${path}: is no Python file. ${PYTHON}.`;
  }
}
