import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { type EnvironmentIsolation, EnvironmentProcess, type LoadedProfile } from '../../sandbox';
import { type LaunchedRuntime, launchRuntime } from '../../sandbox/launch';
import { jailPlan } from '../../sandbox/jail-plan';

/** How a runtime is started: in a jail as by the service, or with the same interpreter, files and pipes but no jail. */
export type StartKind = 'jail' | 'bare';

/** Starts a runtime and loads a source, without the probe that a service makes before its first jail. */
export async function startRuntime(
  kind: StartKind,
  source: string,
  loaded: LoadedProfile,
): Promise<EnvironmentProcess> {
  const launched = kind === 'jail' ? await launchRuntime(loaded, 'jail') : await launchBare(loaded);
  const isolation: EnvironmentIsolation = kind === 'jail' ? 'jail' : 'process';
  return new EnvironmentProcess(kind, isolation, launched, loaded.profile).start(source);
}

async function launchBare(loaded: LoadedProfile): Promise<LaunchedRuntime> {
  const bind = (await jailPlan(loaded)).arguments.find(([option]) => option === '--ro-bind');
  const root = bind![1]!;
  const child = spawn(join(root, 'usr/bin/python3'), ['-I', '-S', join(root, loaded.profile.runtimeInJail)], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const [, stdout, stderr, requests, responses] = child.stdio as unknown as [null, Readable, Readable, Duplex, Duplex];
  for (const stream of [stdout, stderr, requests, responses]) stream.on('error', () => {});
  return {
    child,
    stdout,
    stderr,
    requests,
    responses,
    cgroup: 'none',
    kill: () => child.kill('SIGKILL'),
    brokeMemoryLimit: () => false,
    release: () => [stdout, stderr, requests, responses].forEach((stream) => stream.destroy()),
  };
}
