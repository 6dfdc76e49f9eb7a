// jail
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { loadProfile, type SandboxError } from '../../sandbox';
import { type Isolation, launchRuntime } from '../../sandbox/launch';
import { jailProcesses } from './hostile';
import { EnvironmentStartFailed } from '../helpers/sandbox-errors';

const LIMIT = 400;
const descriptorLimit = (soft: string): void =>
  void execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${soft}:`]);

/** Runs work while this process has room for `free` more descriptors and no more. */
async function withDescriptors(free: number, work: () => Promise<unknown>): Promise<unknown> {
  const before = execFileSync('prlimit', ['--pid', String(process.pid), '--nofile', '--noheadings', '--output=SOFT'])
    .toString()
    .trim();
  const opened: number[] = [];
  descriptorLimit(String(LIMIT));
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'));
  } catch {
    opened.splice(0, free).forEach((descriptor) => closeSync(descriptor));
  }
  try {
    return await work();
  } finally {
    opened.forEach((descriptor) => closeSync(descriptor));
    descriptorLimit(before);
  }
}

describe.each<Isolation>(['process', 'jail'])('a %s', (isolation) => {
  // Room for the filter that the jail opens first, not for the pipes.
  test('that finds no descriptor left is a typed error, and the program lives on', async () => {
    const { kill, child } = await launchRuntime(loadProfile(), isolation);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    kill();
    await ended;
    const error = await withDescriptors(2, async () => {
      const thrown = await launchRuntime(loadProfile(), isolation).catch((caught: unknown) => caught);
      // The process's own error event comes after the call.
      await new Promise((resolve) => setTimeout(resolve, 20));
      return thrown;
    });
    expect(error).toBeInstanceOf(EnvironmentStartFailed);
    expect((error as SandboxError).retryable).toBe(true);
    expect((error as Error).message).toContain('EMFILE');
    expect(jailProcesses()).toEqual([]);
  });
});
