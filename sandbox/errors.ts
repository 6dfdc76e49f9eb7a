/**
 * Errors of the sandbox: plain Error subclasses with a stable `type`, which activities map to failures. `retryable`
 * says whether the same request may succeed in a new process; an environment that raises will raise again.
 */

import type { FailureType } from '../contracts/failures/run';
import type { SandboxFailureType } from '../contracts/failures/sandbox';

/** Base of every error that `sandbox/` throws on purpose. */
export abstract class SandboxError extends Error {
  abstract readonly type: FailureType | SandboxFailureType;
  /** Whether trying again with a new process can help. */
  readonly retryable: boolean = false;
  /** Where the environment's source failed, one `file:line in function: source` a line; null when it did not raise. */
  readonly traceback: string | null = null;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A layer of the jail is missing, so the code is not run. The message says which layer and what to do. */
export class SandboxUnavailable extends SandboxError {
  readonly type = 'Sandbox.Unavailable';
  readonly missing: readonly string[];

  /** @param consequence the end of the sentence that begins with "The jail cannot be started, so". */
  constructor(missing: readonly string[], consequence = 'no generated code is run') {
    super(`The jail cannot be started, so ${consequence}. ${missing.join(' ')}`);
    this.missing = missing;
  }
}

/** The process did not start or did not answer `load` with the runtime's greeting. */
export class EnvironmentStartFailed extends SandboxError {
  readonly type = 'Sandbox.StartFailed';
  override readonly retryable = true;
}

/** A request was not answered in time; its process was killed. */
export class EnvironmentHung extends SandboxError {
  readonly type = 'Sandbox.EnvironmentHung';
  override readonly retryable = true;
}

/** The process ended: by itself (`os._exit`, a crash), by a limit, or killed from outside (`EnvironmentKilled`). */
export class EnvironmentDied extends SandboxError {
  readonly type: 'Sandbox.EnvironmentDied' | 'Sandbox.EnvironmentKilled' = 'Sandbox.EnvironmentDied';
  override readonly retryable = true;

  constructor(
    message: string,
    readonly exitCode: number | null,
    readonly signal: NodeJS.Signals | null,
    /** Last lines of stderr, cut to the profile's cap. */
    readonly stderr: string,
  ) {
    super(message);
  }
}

/**
 * Something outside the jail killed the process: a person, or the kernel when the machine had no memory left. It says
 * nothing about the environment. An environment that kills itself looks the same, so repeat the interrupted work only a
 * few times.
 */
export class EnvironmentKilled extends EnvironmentDied {
  override readonly type = 'Sandbox.EnvironmentKilled';
}

/** The response channel carried something that the protocol does not allow; the process was killed. */
export class BadOutput extends SandboxError {
  readonly type = 'Sandbox.BadOutput';
}

/** Stdout and stderr passed the cap; the process was killed. */
export class OutputFlood extends SandboxError {
  readonly type = 'Sandbox.OutputFlood';
}

/** The environment's code raised. */
export class EnvironmentRaised extends SandboxError {
  readonly type = 'Sandbox.EnvironmentRaised';
  override readonly traceback: string | null;

  constructor(message: string, traceback: string | null) {
    super(message);
    this.traceback = traceback;
  }
}

/** The environment returned a wrong type, NaN, a reward outside [0, 1] or too much. */
export class BadReturn extends SandboxError {
  readonly type = 'Sandbox.BadReturn';
}

/** The caller's request was wrong: unknown parameters, a finished episode, a seed that is no integer. */
export class BadRequest extends SandboxError {
  readonly type = 'Sandbox.BadRequest';
}

/** The episode was evaluated, dropped or never started. */
export class NoSuchEpisode extends SandboxError {
  readonly type = 'Sandbox.NoSuchEpisode';
}

/** The process was closed by its owner while the request waited. */
export class EnvironmentClosed extends SandboxError {
  readonly type = 'Sandbox.EnvironmentClosed';
  override readonly retryable = true;
}
