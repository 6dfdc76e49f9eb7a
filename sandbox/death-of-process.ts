import { constants } from 'node:os';
import { endOf } from '../contracts/clean-text';
import { SandboxError } from './errors';

/** The end of an environment's process, by itself or from outside. */
interface ProcessEnd {
  /** Name of the environment, for the message. */
  name: string;
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The end of its output on stderr. */
  stderr: string;
  /** The jail's memory limit in bytes if the kernel killed the process because of it; else null. */
  brokeMemoryLimitOf: number | null;
}

/**
 * Signals that no limit of the jail sends, by number. If a signal ended the process, bubblewrap reports exit code 128 +
 * number.
 */
const OUTSIDE_SIGNALS: Readonly<Record<number, NodeJS.Signals>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  9: 'SIGKILL',
  15: 'SIGTERM',
};

/** The error of a process that ended: Sandbox.EnvironmentKilled when something outside the jail ended it. */
export function deathOf({ name, code, signal, stderr, brokeMemoryLimitOf }: ProcessEnd): SandboxError {
  const words = stderr === '' ? '' : `; its last words: ${endOf(stderr, 400)}`;
  const what = `The process of environment ${name}`;
  if (brokeMemoryLimitOf !== null) {
    const limit = `${Math.floor(brokeMemoryLimitOf / 2 ** 20)} MiB`;
    return new SandboxError(
      'Sandbox.EnvironmentDied',
      `${what} used more than its ${limit} of memory and was killed${words}`,
    );
  }
  const killer = signal ?? OUTSIDE_SIGNALS[(code ?? 0) - 128];
  if (killer !== undefined && Object.values(OUTSIDE_SIGNALS).includes(killer)) {
    return new SandboxError(
      'Sandbox.EnvironmentKilled',
      `${what} was killed by ${killer}, and not by a limit of its own: somebody killed it, or the machine had no ` +
        `memory left${words}`,
    );
  }
  const how = signal === null ? `ended with code ${code}${signalBehind(code)}` : `was killed by ${signal}`;
  return new SandboxError('Sandbox.EnvironmentDied', `${what} ${how}${words}`);
}

/** The signal in bubblewrap's exit code, as the end of a sentence; empty if there is none. */
function signalBehind(code: number | null): string {
  const [name] = Object.entries(constants.signals).find(([, number]) => number === (code ?? 0) - 128) ?? [];
  return name === undefined ? '' : `, which stands for ${name}`;
}
