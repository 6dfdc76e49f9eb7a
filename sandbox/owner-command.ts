import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isWithin } from '../contracts/paths';
import { whyHidden } from './agent-folder';
import type { EnvironmentIsolation } from './environment-process';
import type { OwnersCommand } from './environment-source';
import { SandboxError } from './errors';
import { type LaunchedRuntime, launchCommand } from './launch';
import { isolationFor } from './isolation';
import { type LoadedProfile, programProfile } from './profile';

/** Folders of the system's programs, which every jail for commands shows. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** Where programs without a folder in their names are looked for, as PATH in the jail says. */
const PATH = ['/usr/local/bin', '/usr/bin', '/bin'];

/** What one start of a command has besides its settings. */
export interface CommandStart {
  command?: readonly string[];
  more?: Readonly<Record<string, string>>;
  writable?: string;
  input?: string;
}

/** A started command, and where it runs. */
interface StartedCommand {
  isolation: EnvironmentIsolation;
  launched: LaunchedRuntime;
}

/**
 * Starts a command of the agent's owner in its jail; where an operator allows it, as a plain process. It gets the
 * variables of the launch, its secrets, and nothing else of this process.
 * @param start for this start alone: another command than that of the launch, whose relative paths begin in the agent's
 *   folder; further variables; a folder that it may write; the file that is its standard input.
 * @throws Sandbox.CommandRefused if a program, folder or secret is missing, or may not be shown; SandboxUnavailable;
 *   Sandbox.StartFailed.
 */
export async function startCommand(
  source: OwnersCommand,
  loaded: LoadedProfile,
  { command = source.launch.command, more = {}, writable, input }: CommandStart = {},
): Promise<StartedCommand> {
  const { launch, name } = source;
  const isolation = await isolationFor(source, loaded);
  const { agentFolder } = launch;
  const isJailed = isolation === 'owner-jail';
  const folders = launch.folders.filter((folder) => !SYSTEM.some((place) => isWithin(folder, place)));
  const program = programPath(command[0]!, agentFolder);
  if (program === null) throw refused(name, `${command[0]} is not a program that can be run.`);
  if (isJailed) {
    for (const folder of [agentFolder, ...folders]) {
      const why = existsSync(folder) ? whyHidden(folder) : 'does not exist';
      if (why !== null) throw refused(name, `The folder ${folder} cannot be shown to the command: it ${why}.`);
    }
    const hidden = hiddenTarget(program, [agentFolder, ...folders, ...SYSTEM]);
    if (hidden !== null)
      throw refused(
        name,
        `${program} leads to ${hidden}, which its jail does not show. Name a folder with it in environment.folders, ` +
          'or make the virtual environment with a Python of the system.',
      );
  }
  const variables = { ...launch.variables, ...secretsOf(launch.secrets, name), ...more };
  const shown = { command: [program, ...command.slice(1)], agentFolder, folders, variables, writable, input };
  const profile = programProfile(loaded, launch.memoryPerEpisode);
  return { isolation, launched: await launchCommand(profile, isJailed ? 'jail' : 'process', shown) };
}

/** The file that a command runs; null if there is none. A name without a folder is a program of the system. */
export function programPath(program: string, agentFolder: string): string | null {
  const places = program.includes('/') ? [resolve(agentFolder, program)] : PATH.map((place) => join(place, program));
  return places.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The target of a program outside the shown folders; null if it is inside. */
function hiddenTarget(program: string, shown: readonly string[]): string | null {
  const real = realpathSync(program);
  const places = shown.flatMap((place) => (existsSync(place) ? [place, realpathSync(place)] : []));
  return places.some((place) => isWithin(real, place)) ? null : real;
}

function secretsOf(names: readonly string[], name: string): Record<string, string> {
  return Object.fromEntries(
    names.map((variable) => {
      const value = process.env[variable];
      if (value === undefined || value === '')
        throw refused(name, `environment.secrets names ${variable}, which the worker does not have. Set it there.`);
      return [variable, value];
    }),
  );
}

const refused = (name: string, words: string): SandboxError =>
  new SandboxError('Sandbox.CommandRefused', `The environment ${name} is not run. ${words}`);
