import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { projectRoot } from '../contracts/project-root';
import { type CgroupLayer, createJailCgroup, type JailCgroup } from './cgroup';
import { SandboxError } from './errors';
import { type JailPlan, jailPlan } from './jail-plan';
import { openPipes, type PipeEnd } from './pipes';
import type { JailProfile, LoadedProfile } from './profile';
import { pythonInterpreter } from './python-interpreter';

/** The isolation of a process: a jail with the given profile, or only a separate process. */
export type Isolation = 'jail' | 'process';

/** A started runtime and its pipes. */
export interface LaunchedRuntime {
  child: ChildProcess;
  requests: Writable;
  responses: Readable;
  stdout: Readable;
  stderr: Readable;
  /** The control groups that limit it. */
  cgroup: CgroupLayer;
  /** Kills the process group with SIGKILL; every process in the jail dies with it. Harmless if it is already gone. */
  kill(): void;
  /** Whether the process was killed because it had reached the jail's own memory limit. Ask before `release`. */
  brokeMemoryLimit(): boolean;
  /** Closes the pipes and frees the control group. Call it after the process has ended. */
  release(): void;
}

/** Placeholder in the profile for the folder that an owner's environment may read. */
const AGENT_FOLDER = '${AGENT_FOLDER}';
/** Placeholder for the further folders that a command may read, and its variables. */
const FOLDERS_AND_VARIABLES = '${FOLDERS_AND_VARIABLES}';

/** The Python file that serves environments. */
const runtimePath = (): string => join(projectRoot(), 'trainer-image', 'whetstone', 'envs', 'runtime', '__main__.py');

/**
 * Starts the environment runtime with an empty environment, no inherited files and requests on fd 3, responses on fd 4.
 * It does not keep this program alive.
 * @param agentFolder the folder that the runtime starts in, and that replaces `${AGENT_FOLDER}` in the profile; null:
 *   it starts in `/`, and groups with it are left out.
 * @throws SandboxUnavailable when a part of the jail is not installed; Sandbox.StartFailed when the system has no
 *   room for a process or its pipes.
 */
export async function launchRuntime(
  loaded: LoadedProfile,
  isolation: Isolation,
  agentFolder: string | null = null,
): Promise<LaunchedRuntime> {
  const plan = isolation === 'jail' ? await jailPlan(loaded) : null;
  return launch(plan, loaded.profile, {
    command: plan ? [] : [pythonInterpreter(), '-I', '-S', runtimePath()],
    agentFolder,
    more: [],
    variables: {},
  });
}

/** A command that the profile allows, and what it sees of the machine. */
interface ShownCommand {
  command: readonly string[];
  agentFolder: string;
  /** Further folders that it may read. */
  folders: readonly string[];
  variables: Readonly<Record<string, string>>;
  /** A folder that it may write, at the same path. Commands that share it have the same user. Default: none. */
  writable?: string | undefined;
  /** The file that is its standard input. Default: none. */
  input?: string | undefined;
}

/**
 * Starts a command of the agent's owner with the given variables, no inherited files, and pipes on fd 3 (it reads) and
 * fd 4 (it writes). It does not keep this program alive.
 * @param loaded the profile for commands, `programProfile`.
 * @throws as `launchRuntime` does; Sandbox.CommandRefused for a NUL character, and for words that are too long.
 */
export async function launchCommand(
  loaded: LoadedProfile,
  isolation: Isolation,
  { command, agentFolder, folders, variables, writable, input }: ShownCommand,
): Promise<LaunchedRuntime> {
  const settings = Object.entries(variables);
  // The jail's arguments are separated by NUL: with one inside, an argument would be two.
  if ([...command, agentFolder, ...folders, ...settings.flat()].some((text) => text.includes('\0')))
    throw new SandboxError('Sandbox.CommandRefused', 'A command, folder or variable has a NUL character.');
  const plan = isolation === 'jail' ? await jailPlan(loaded) : null;
  const more = [
    ...folders.map((folder) => ['--ro-bind', folder, folder]),
    ...(writable === undefined ? [] : [['--bind', writable, writable]]),
    ...settings.map(([name, value]) => ['--setenv', name, value]),
  ];
  const home = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' };
  const all = { ...home, ...variables };
  return launch(plan, loaded.profile, { command, agentFolder, more, variables: all, writable, input });
}

interface Launch {
  /** Without a jail the whole command; in a jail what follows the plan's command. */
  command: readonly string[];
  agentFolder: string | null;
  /** Groups of arguments of bubblewrap that replace `FOLDERS_AND_VARIABLES`. */
  more: readonly string[][];
  /** Without a jail. */
  variables: Readonly<Record<string, string>>;
  writable?: string | undefined;
  input?: string | undefined;
}

async function launch(
  plan: JailPlan | null,
  profile: JailProfile,
  { command, agentFolder, more, variables, writable, input }: Launch,
): Promise<LaunchedRuntime> {
  // If root started bubblewrap, the jail would have the kernel's uid 0, which may write kernel settings even without
  // capabilities.
  const uid = plan && process.getuid?.() === 0 ? (userOf(writable, profile.uids) ?? nextUid(profile.uids)) : null;
  const pipes = await runtimePipes();
  const cgroup = plan && createJailCgroup(plan.cgroup, uid);
  let stdin: number | null = null;
  try {
    // Only the jail's user may write there, and the owner of the files in it does not matter.
    if (uid !== null && writable !== undefined) chownSync(writable, uid, uid);
    if (input !== undefined) stdin = openSync(input, 'r');
    const [program, ...rest] = command;
    const child = plan
      ? await startJail(plan, { uid, cgroup, agentFolder, more, command, stdin }, pipes)
      : await start(program!, rest, {
          ...spawnOptions(pipes, [], stdin),
          env: variables,
          ...(agentFolder !== null && { cwd: agentFolder }),
        });
    // Only bubblewrap reads these; a pipe that nobody reads would stay open as long as the worker.
    if (plan === null) for (const { stream } of [pipes.argumentList, pipes.filter]) stream.destroy();
    return connect(child, pipes, cgroup);
  } catch (error) {
    cgroup?.release();
    for (const { stream } of Object.values(pipes)) stream.destroy();
    throw error;
  } finally {
    for (const { childFd } of Object.values(pipes)) closeSync(childFd);
    if (stdin !== null) closeSync(stdin);
  }
}

interface JailSettings {
  /** User and group to which the process changes before it runs anything; null: it keeps ours, which is not root. */
  uid: number | null;
  cgroup: JailCgroup | null;
  agentFolder: string | null;
  more: readonly string[][];
  command: readonly string[];
  /** Its standard input; null: none. */
  stdin: number | null;
}

function startJail(
  plan: JailPlan,
  { uid, cgroup, agentFolder, more, command, stdin }: JailSettings,
  pipes: RuntimePipes,
): ChildProcess | Promise<never> {
  const [program, ...rest] = [...(cgroup?.joinPrefix() ?? []), ...plan.limits, ...plan.command, ...command];
  const identity = uid === null ? {} : { uid, gid: uid };
  const child = start(program!, rest, {
    ...spawnOptions(pipes, [pipes.argumentList, pipes.filter], stdin),
    ...identity,
  });
  if (child instanceof Promise) return child;
  const jailArguments = plan.arguments
    .flatMap((group) => (group[0] === FOLDERS_AND_VARIABLES ? more : [group]))
    .filter((group) => agentFolder !== null || !group.includes(AGENT_FOLDER))
    .flat()
    .map((argument) => `${argument === AGENT_FOLDER ? agentFolder : argument}\0`);
  pipes.filter.stream.end(plan.filter);
  // bubblewrap starts nothing before it has read all its arguments, so everything that it starts is in the group. It is
  // not awaited, because the caller must listen for the end of the process from the first moment.
  void Promise.resolve(cgroup?.join(child.pid!)).then(
    () => pipes.argumentList.stream.end(jailArguments.join('')),
    // Without the limits of its group the process must not run.
    () => child.kill('SIGKILL'),
  );
  return child;
}

/** `argumentList` and `filter` are for bubblewrap, and are closed before the environment is loaded. */
type RuntimePipes = Record<'stdout' | 'stderr' | 'requests' | 'responses' | 'argumentList' | 'filter', PipeEnd>;

async function runtimePipes(): Promise<RuntimePipes> {
  try {
    const [stdout, stderr, requests, responses, argumentList, filter] = await openPipes([
      'in',
      'in',
      'out',
      'in',
      'out',
      'out',
    ]);
    return { stdout, stderr, requests, responses, argumentList, filter };
  } catch (error) {
    throw startFailed('The pipes of an environment could not be opened', error as Error);
  }
}

const startFailed = (words: string, cause: Error): SandboxError =>
  new SandboxError('Sandbox.StartFailed', `${words}: ${cause.message}`, { cause });

/**
 * Returns a promise only if the start failed, since the caller must listen for the end of the process from the
 * beginning.
 */
function start(program: string, args: string[], options: SpawnOptions): ChildProcess | Promise<never> {
  const child = spawned(program, args, options);
  if (child.pid !== undefined) return child;
  // The reason arrives later, as an event.
  return once(child, 'error').then(([error]) => {
    throw startFailed('The process of an environment could not be started', error as Error);
  });
}

function spawned(program: string, args: string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(program, args, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'E2BIG') throw error;
    const what = 'A word of the command, or all of them together, are longer than the system takes (E2BIG).';
    throw new SandboxError('Sandbox.CommandRefused', what, { cause: error });
  }
}

/** The user of the jail that had a folder before, so that what it wrote there stays readable; null: there was none. */
function userOf(folder: string | undefined, { first, count }: JailProfile['uids']): number | null {
  if (folder === undefined) return null;
  const owner = statSync(folder).uid;
  return owner >= first && owner < first + count ? owner : null;
}

let uidCursor = Math.floor(Math.random() * 0x7fffffff);

function nextUid(range: { first: number; count: number }): number {
  // With a random start, several services on one machine choose different users without a lock. If two jails do get the
  // same user, they only share a limit on processes.
  uidCursor = (uidCursor + 1) % 0x7fffffff;
  return range.first + (uidCursor % range.count);
}

function spawnOptions(
  { stdout, stderr, requests, responses }: RuntimePipes,
  more: PipeEnd[],
  stdin: number | null,
): SpawnOptions {
  const given = [stdout, stderr, requests, responses, ...more].map(({ childFd }) => childFd);
  // The process has its own process group, so that one kill reaches every helper. `/`, because the jail's user may not
  // be able to enter the project's directory.
  return { cwd: '/', env: {}, detached: true, stdio: [stdin ?? 'ignore', ...given] };
}

function connect(child: ChildProcess, pipes: RuntimePipes, cgroup: JailCgroup | null): LaunchedRuntime {
  const streams = [pipes.requests, pipes.responses, pipes.stdout, pipes.stderr].map(({ stream }) => stream);
  for (const stream of streams) stream.unref();
  child.unref();
  return {
    child,
    requests: pipes.requests.stream,
    responses: pipes.responses.stream,
    stdout: pipes.stdout.stream,
    stderr: pipes.stderr.stream,
    cgroup: cgroup?.layer ?? 'none',
    kill: () => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    },
    brokeMemoryLimit: () => cgroup?.brokeMemoryLimit() ?? false,
    release: () => {
      for (const stream of streams) stream.destroy();
      cgroup?.release();
    },
  };
}
