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
  /** The field of agent.yaml with the command, for messages. */
  field?: string;
  more?: Readonly<Record<string, string>>;
  writable?: string;
  input?: string;
}

/** The start of a command that plays a task, or scores it. */
export type ProgramStart = Required<Omit<CommandStart, 'field'>> & Pick<CommandStart, 'field'>;

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
  { command = source.launch.command, field, more = {}, writable, input }: CommandStart = {},
): Promise<StartedCommand> {
  const { launch, name, programFrom } = source;
  const isolation = await isolationFor(source, loaded);
  const { agentFolder } = launch;
  const isJailed = isolation === 'owner-jail';
  const folders = launch.folders.filter((folder) => !SYSTEM.some((place) => isWithin(folder, place)));
  const program = programPath(command[0]!, agentFolder);
  const fieldOfProgram = field ?? programFrom?.field ?? 'environment.command';
  if (program === null) {
    const remedy = field === undefined && programFrom ? ` ${programFrom.remedy}` : '';
    const why = whyNoProgram(command[0]!, agentFolder);
    throw refused(name, fieldOfProgram, `${command[0]} is not a program that can be run: ${why}.${remedy}`);
  }
  if (isJailed) {
    for (const folder of [agentFolder, ...folders]) {
      const why = existsSync(folder) ? whyHidden(folder) : 'does not exist';
      if (why === null) continue;
      const words = `${folder} cannot be shown to the command: it ${why}.`;
      throw refused(name, folder === agentFolder ? null : fieldOfFolder(folder, source), words);
    }
    const hidden = hiddenTarget(program, [agentFolder, ...folders, ...SYSTEM]);
    if (hidden !== null) {
      const folder = programFrom ? '' : ', or name a folder with that file in environment.folders';
      const remedy = `Make the virtual environment with a Python of the system${folder}.`;
      throw refused(name, fieldOfProgram, `${program} leads to ${hidden}, which its jail does not show. ${remedy}`);
    }
  }
  const variables = { ...launch.variables, ...secretsOf(source), ...more };
  const shown = { command: [program, ...command.slice(1)], agentFolder, folders, variables, writable, input };
  const profile = programProfile(loaded, launch.memoryPerEpisode);
  return { isolation, launched: await launchCommand(profile, isJailed ? 'jail' : 'process', shown) };
}

/** The field of agent.yaml with a folder. Of a command that this project makes of other fields: that of its program. */
const fieldOfFolder = (folder: string, { launch, programFrom }: OwnersCommand): string =>
  programFrom?.field ?? `environment.folders.${launch.folders.indexOf(folder)}`;

/** The file that a command runs; null if there is none. A name without a folder is a program of the system. */
export function programPath(program: string, agentFolder: string): string | null {
  const places = program.includes('/') ? [resolve(agentFolder, program)] : PATH.map((place) => join(place, program));
  return places.find(isExecutable) ?? null;
}

/** Why `programPath` finds none, and what to write in its place, as the end of a sentence. */
function whyNoProgram(program: string, agentFolder: string): string {
  const path = resolve(agentFolder, program);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!program.includes('/')) {
    const beside = found?.isFile() === true ? `. Write ./${program} for the file beside agent.yaml` : '';
    return `there is none of this name in ${PATH.join(', ')}${beside || '. Write its whole path'}`;
  }
  if (found === undefined) return `there is no file ${path}`;
  if (!found.isFile()) return `${path} is no file`;
  return `${path} may not be executed. Use chmod +x, or begin with the program that reads it, such as python3`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The target of a path outside the shown folders; null if it is inside. */
function hiddenTarget(path: string, shown: readonly string[]): string | null {
  const real = realpathSync(path);
  const places = shown.flatMap((place) => (existsSync(place) ? [place, realpathSync(place)] : []));
  return places.some((place) => isWithin(real, place)) ? null : real;
}

/**
 * Whether something lies at an absolute path that the jail of a command does not show. It is only looked for.
 * @param writable folder that it may write, which exists for it alone.
 */
export function isHidden(
  path: string,
  { agentFolder, folders }: Pick<OwnersCommand['launch'], 'agentFolder' | 'folders'>,
  writable?: string,
): boolean {
  // What programs find of these is the jail's own.
  if (['/proc', '/sys', '/dev', ...(writable === undefined ? [] : [writable])].some((own) => isWithin(path, own)))
    return false;
  try {
    return hiddenTarget(path, [agentFolder, ...folders, ...SYSTEM]) !== null;
  } catch {
    return false;
  }
}

function secretsOf({ name, launch: { secrets }, programFrom }: OwnersCommand): Record<string, string> {
  return Object.fromEntries(
    secrets.map((variable, place) => {
      const value = process.env[variable];
      if (value === undefined || value === '') {
        const field = programFrom ? 'environment' : `environment.secrets.${place}`;
        const words = `the variable ${variable} is not set here. Set it before you start the worker (\`whet up\`).`;
        throw refused(name, field, words);
      }
      return [variable, value];
    }),
  );
}

/** @param field of agent.yaml; null: none is at fault. */
const refused = (name: string, field: string | null, words: string): SandboxError =>
  new SandboxError('Sandbox.CommandRefused', `${name}: ${field === null ? '' : `${field}: `}${words}`);
