import type { ApplicationFailure } from '@temporalio/common';
import { failure } from '../contracts/typed-failure';
import { SandboxError } from '../sandbox';

/** Number of tries of work whose environment is killed from outside. */
const TRIES = 3;
/** After this many attempts of an activity, a person must find out why the environment is killed. */
const ATTEMPTS = 3;

/**
 * Runs something again when the environment's process was killed from outside, three times in all: the kill says
 * nothing about the environment. Throws Sandbox.EnvironmentKilled, the signal's reason, or what `run` throws.
 */
export async function againIfKilled<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let number = 1; ; number++) {
    try {
      return await run();
    } catch (error) {
      signal?.throwIfAborted();
      if (!isOutsideFault(error) || number === TRIES) throw error;
    }
  }
}

/**
 * Whether an error, or its cause, says that something outside killed the environment's process, or that the system had
 * no resources to start it. If a source ends its process while it is loaded, the source is at fault, not the machine.
 */
export function isOutsideFault(error: unknown): boolean {
  const own = (one: unknown): boolean =>
    one instanceof SandboxError &&
    (one.type === 'Sandbox.EnvironmentKilled' ||
      (one.type === 'Sandbox.StartFailed' && !(one.cause instanceof SandboxError)));
  return own(error) || (error instanceof Error && own(error.cause));
}

/**
 * The failure of an activity whose environment was killed repeatedly. Temporal retries with back-off; later the run
 * waits for a person.
 * @param attempt number of the activity's attempt, from 1.
 */
export function killedFailure(error: Error, attempt: number): ApplicationFailure {
  const next =
    attempt < ATTEMPTS
      ? 'It is tried again; nothing counts against the environment.'
      : 'It waits now: nothing counts against the environment.';
  return failure('Environment.Killed', `${error.message} ${next}`, { cause: error, nonRetryable: attempt >= ATTEMPTS });
}
