// A process that starts a runtime while it has no descriptor left for the pipes. It is a process of its own, since its
// limit would otherwise hold for every later test of the same jest worker.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { loadProfile, SandboxError } from '../../sandbox';
import { type Isolation, launchRuntime } from '../../sandbox/launch';

const LIMIT = 400;
/** Room for the filter that the jail opens first, not for the pipes. */
const FREE = 2;

function fillDescriptors(): number[] {
  execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${LIMIT}:`]);
  const opened: number[] = [];
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'));
  } catch {
    opened.splice(0, FREE).forEach((descriptor) => closeSync(descriptor));
  }
  return opened;
}

async function main([isolation]: string[]): Promise<void> {
  // The first one loads all modules and finds the jail's files.
  const { kill, child } = await launchRuntime(loadProfile(), isolation as Isolation);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.ref();
  kill();
  await ended;
  const opened = fillDescriptors();
  const thrown = await launchRuntime(loadProfile(), isolation as Isolation).catch((caught: unknown) => caught);
  // The process's own error event comes after the call.
  await new Promise((resolve) => setTimeout(resolve, 20));
  opened.forEach((descriptor) => closeSync(descriptor));
  if (!(thrown instanceof SandboxError)) throw new Error(`no SandboxError: ${String(thrown)}`);
  process.stdout.write(JSON.stringify({ type: thrown.type, retryable: thrown.retryable, message: thrown.message }));
}

void main(process.argv.slice(2));
