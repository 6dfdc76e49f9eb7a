import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Duplex, Readable, Writable } from 'node:stream';
import { findProgram, runtimePath } from './assets';
import { createJailCgroup, type JailCgroup } from './cgroup';
import { SandboxUnavailable } from './errors';
import { type LoadedProfile, seccompFilterPath } from './profile';
import { pythonInterpreter, pythonRoot } from './python-root';

/** How a process is held: in the jail, or merely in a process of its own. */
export type Isolation = 'jail' | 'process';

/** A started runtime and its pipes. */
export interface LaunchedRuntime {
  child: ChildProcess;
  requests: Writable;
  responses: Readable;
  stdout: Readable;
  stderr: Readable;
  /** Kills the process group with SIGKILL; everything in the jail goes with it. Harmless when it is gone. */
  kill(): void;
  /** Frees what the launch holds besides the process; call it after the process has ended. */
  release(): void;
}

const ARGUMENTS_FD = 5;
const SECCOMP_FD = 6;
const NOTHING = { release: () => {} };

/**
 * Starts the environment runtime with an empty environment, no inherited files and requests on fd 3, responses on fd 4.
 * @throws SandboxUnavailable when a part of the jail is not installed.
 */
export async function launchRuntime(loaded: LoadedProfile, isolation: Isolation): Promise<LaunchedRuntime> {
  if (isolation === 'process') {
    const child = spawn(pythonInterpreter(), ['-I', '-S', runtimePath()], spawnOptions([]));
    return connect(child, NOTHING);
  }
  const plan = await planJail(loaded);
  const cgroup = createJailCgroup(loaded.profile.cgroup);
  const filter = openSync(plan.filterPath, 'r');
  try {
    const [program, ...rest] = [...(cgroup?.joinPrefix() ?? []), ...plan.prefix, ...plan.bubblewrap, ...plan.command];
    const child = spawn(program!, rest, spawnOptions(['pipe', filter]));
    const list = (child.stdio as readonly unknown[])[ARGUMENTS_FD] as Duplex;
    list.on('error', () => {});
    list.end(plan.jailArguments.map((argument) => `${argument}\0`).join(''));
    return connect(child, cgroup ?? NOTHING);
  } catch (error) {
    cgroup?.release();
    throw error;
  } finally {
    closeSync(filter);
  }
}

interface JailPlan {
  /** Drops root and sets the limits. */
  prefix: string[];
  bubblewrap: string[];
  /** Passed over a pipe: the command line of the jail's first process is no place for paths. */
  jailArguments: string[];
  command: string[];
  filterPath: string;
}

async function planJail(loaded: LoadedProfile): Promise<JailPlan> {
  const { profile } = loaded;
  const bwrap = program('bwrap', 'install bubblewrap 0.8 or newer (Debian and Ubuntu: `apt install bubblewrap`)');
  const prlimit = program('prlimit', 'install util-linux');
  const filterPath = seccompFilterPath(loaded);
  const values: Record<string, string> = {
    PYTHON_ROOT: await pythonRoot(),
    RUNTIME: profile.runtimeInJail,
    THREADS: String(profile.rlimits.threads),
  };
  const fill = (text: string): string => text.replace(/\$\{([A-Z_]+)\}/g, (whole, name: string) => values[name] ?? whole);
  const limits = profile.rlimits;
  const prefix = [
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
  if (process.getuid?.() === 0) {
    // bubblewrap started by root keeps the kernel's uid 0 inside, which may write kernel settings whatever its capabilities are.
    const uid = nextUid(profile.uids);
    const setpriv = program('setpriv', 'install util-linux');
    prefix.unshift(setpriv, `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--inh-caps=-all', '--bounding-set=-all');
    // Twice the inner limit: bubblewrap's own processes count here, and the user is this jail's alone.
    prefix.push(`--nproc=${limits.threads * 2}`);
  }
  return {
    prefix,
    bubblewrap: [bwrap, '--args', String(ARGUMENTS_FD), '--seccomp', String(SECCOMP_FD)],
    jailArguments: profile.bubblewrap.flat().map(fill),
    command: profile.command.map(fill),
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
  // A random start keeps services on one machine apart without a lock; a clash only shares a process limit.
  uidCursor = (uidCursor + 1) % 0x7fffffff;
  return range.first + (uidCursor % range.count);
}

function spawnOptions(extra: ('pipe' | number)[]): import('node:child_process').SpawnOptions {
  // An own process group, so that one kill reaches every helper; `/` because the project may lie where the jail's user cannot go.
  return { cwd: '/', env: {}, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', ...extra] };
}

function connect(child: ChildProcess, holder: Pick<JailCgroup, 'release'>): LaunchedRuntime {
  const [, stdout, stderr, requests, responses] = child.stdio as unknown as [null, Readable, Readable, Duplex, Duplex];
  // The other ends vanish with the process; its exit is what is reported, not the broken pipe.
  for (const stream of [stdout, stderr, requests, responses]) stream?.on('error', () => {});
  return {
    child,
    requests,
    responses,
    stdout,
    stderr,
    kill: () => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    },
    release: () => holder.release(),
  };
}
