import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { projectRoot } from '../contracts/project-root';
import { findProgram } from './find-program';
import { type CgroupLayer, createJailCgroup, type JailCgroup } from './cgroup';
import { EnvironmentStartFailed, SandboxUnavailable } from './errors';
import { openPipes, type PipeEnd } from './pipes';
import { type LoadedProfile, seccompFilterPath } from './profile';
import { pythonInterpreter, pythonRoot } from './python-root';

/** How a process is isolated: by a jail of the given profile, or only by being a process of its own. */
export type Isolation = 'jail' | 'process';

/** A started runtime and its pipes. */
export interface LaunchedRuntime {
  child: ChildProcess;
  requests: Writable;
  responses: Readable;
  stdout: Readable;
  stderr: Readable;
  /** Which control groups bound it. */
  cgroup: CgroupLayer;
  /** Kills the process group with SIGKILL; everything in the jail goes with it. Harmless when it is gone. */
  kill(): void;
  /** Whether the process was killed because it had reached the jail's own memory limit. Ask before `release`. */
  brokeMemoryLimit(): boolean;
  /** Closes the pipes and frees the control group. Call it after the process has ended. */
  release(): void;
}

/** The Python file that serves environments. */
const runtimePath = (): string => join(projectRoot(), 'trainer-image', 'whetstone', 'envs', 'runtime', '__main__.py');

const ARGUMENTS_FD = 5;
const SECCOMP_FD = 6;

/**
 * Starts the environment runtime with an empty environment, no inherited files and requests on fd 3, responses on fd 4.
 * It does not keep this program alive.
 * @param agentFolder what stands for `${AGENT_FOLDER}` in the profile; null: such groups are left out.
 * @throws SandboxUnavailable when a part of the jail is not installed; EnvironmentStartFailed when the system has no
 *   room for a process or its pipes.
 */
export async function launchRuntime(
  loaded: LoadedProfile,
  isolation: Isolation,
  agentFolder: string | null = null,
): Promise<LaunchedRuntime> {
  const plan = isolation === 'jail' ? await planJail(loaded, agentFolder) : null;
  const pipes = await runtimePipes();
  const cgroup = plan && createJailCgroup(loaded.profile.cgroup, plan.identity?.uid ?? null);
  try {
    const child = plan
      ? await startJail(plan, cgroup, pipes)
      : await start(pythonInterpreter(), ['-I', '-S', runtimePath()], spawnOptions(pipes, []));
    // Only bubblewrap reads arguments; a pipe that nobody reads would stay open as long as the worker.
    if (plan === null) pipes.argumentList.stream.destroy();
    return connect(child, pipes, cgroup);
  } catch (error) {
    cgroup?.release();
    for (const { stream } of Object.values(pipes)) stream.destroy();
    throw error;
  } finally {
    for (const { childFd } of Object.values(pipes)) closeSync(childFd);
  }
}

async function startJail(plan: JailPlan, cgroup: JailCgroup | null, pipes: RuntimePipes): Promise<ChildProcess> {
  const filter = await orStartFailed('The seccomp filter could not be opened', () => openSync(plan.filterPath, 'r'));
  try {
    const [program, ...rest] = [...(cgroup?.joinPrefix() ?? []), ...plan.command];
    const options = spawnOptions(pipes, [pipes.argumentList.childFd, filter]);
    const child = await start(program!, rest, { ...options, ...plan.identity });
    // bubblewrap starts nothing before it has read all its arguments, so everything that it starts is in the group. Not
    // awaited: the caller must listen for the end of the process from the first moment.
    void Promise.resolve(cgroup?.join(child.pid!)).then(
      () => pipes.argumentList.stream.end(plan.jailArguments.map((argument) => `${argument}\0`).join('')),
      // Without the limits of its group it must not run.
      () => child.kill('SIGKILL'),
    );
    return child;
  } finally {
    closeSync(filter);
  }
}

/** `argumentList` carries bubblewrap's arguments and is closed before the environment is loaded. */
type RuntimePipes = Record<'stdout' | 'stderr' | 'requests' | 'responses' | 'argumentList', PipeEnd>;

async function runtimePipes(): Promise<RuntimePipes> {
  const [stdout, stderr, requests, responses, argumentList] = await orStartFailed(
    'The pipes of an environment could not be opened',
    () => openPipes(['in', 'in', 'out', 'in', 'out']),
  );
  return { stdout, stderr, requests, responses, argumentList };
}

/** The result of opening something; its error becomes EnvironmentStartFailed, which begins with the given words. */
async function orStartFailed<T>(words: string, open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw new EnvironmentStartFailed(`${words}: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns a promise only if the start failed: the caller must listen for the end of the process from the beginning. */
function start(program: string, args: string[], options: SpawnOptions): ChildProcess | Promise<never> {
  const child = spawn(program, args, options);
  if (child.pid !== undefined) return child;
  // The reason arrives later, as an event.
  return orStartFailed('The process of an environment could not be started', async () => {
    const [error] = (await once(child, 'error')) as [Error];
    throw error;
  });
}

interface JailPlan {
  /** User and group that the process changes to before it runs anything; null: it keeps ours, which is not root. */
  identity: { uid: number; gid: number } | null;
  /** Sets the limits, then starts bubblewrap, which starts the runtime. */
  command: string[];
  /** Passed to bubblewrap over a pipe, because everybody can read the command line of the jail's first process. */
  jailArguments: string[];
  filterPath: string;
}

async function planJail(loaded: LoadedProfile, agentFolder: string | null): Promise<JailPlan> {
  const { profile } = loaded;
  const bwrap = program('bwrap', 'install bubblewrap 0.8 or newer (Debian and Ubuntu: `apt install bubblewrap`)');
  const prlimit = program('prlimit', 'install util-linux');
  const filterPath = seccompFilterPath(loaded);
  const values: Record<string, string> = {
    PYTHON_ROOT: await pythonRoot(),
    RUNTIME: profile.runtimeInJail,
    THREADS: String(profile.rlimits.threads),
    ...(agentFolder !== null && { AGENT_FOLDER: agentFolder }),
  };
  const fill = (text: string): string =>
    text.replace(/\$\{([A-Z_]+)\}/g, (whole, name: string) => values[name] ?? whole);
  const limits = profile.rlimits;
  const command = [
    prlimit,
    `--as=${limits.addressSpaceBytes}`,
    `--core=${limits.coreBytes}`,
    `--cpu=${limits.cpuSeconds}`,
    `--fsize=${limits.fileSizeBytes}`,
    `--memlock=${limits.lockedMemoryBytes}`,
    `--msgqueue=${limits.messageQueueBytes}`,
    `--nofile=${limits.openFiles}`,
    `--sigpending=${limits.pendingSignals}`,
    `--stack=${limits.stackBytes}`,
  ];
  // If root started bubblewrap, the jail would have the kernel's uid 0, which may write kernel settings even without
  // capabilities.
  const uid = process.getuid?.() === 0 ? nextUid(profile.uids) : null;
  // Twice the inner limit, because bubblewrap's own processes count here. No other jail has this user.
  if (uid !== null) command.push(`--nproc=${limits.threads * 2}`);
  command.push(bwrap, '--args', String(ARGUMENTS_FD), '--seccomp', String(SECCOMP_FD), ...profile.command.map(fill));
  return {
    identity: uid === null ? null : { uid, gid: uid },
    command,
    jailArguments: profile.bubblewrap
      .map((group) => group.map(fill))
      .filter((group) => !group.some((argument) => argument.includes('${AGENT_FOLDER}')))
      .flat(),
    filterPath,
  };
}

function program(name: string, remedy: string): string {
  const found = findProgram(name);
  if (!found) throw new SandboxUnavailable([`${name} is not on PATH: ${remedy}.`]);
  return found;
}

let uidCursor = Math.floor(Math.random() * 0x7fffffff);

function nextUid(range: { first: number; count: number }): number {
  // A random start keeps several services on one machine apart without a lock. If two jails do get the same user, they
  // only share a process limit.
  uidCursor = (uidCursor + 1) % 0x7fffffff;
  return range.first + (uidCursor % range.count);
}

function spawnOptions({ stdout, stderr, requests, responses }: RuntimePipes, extra: number[]): SpawnOptions {
  const given = [stdout, stderr, requests, responses].map(({ childFd }) => childFd);
  // A process group of its own, so that one kill reaches every helper. `/`, because the jail's user may not be able to
  // enter the project's directory.
  return { cwd: '/', env: {}, detached: true, stdio: ['ignore', ...given, ...extra] };
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
