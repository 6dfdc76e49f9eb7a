import type { FailureType } from '../contracts/failures/run';
import type { SandboxFailureType } from '../contracts/failures/sandbox';

/** Types whose request may succeed in a new process. An environment that raises will raise again. */
const RETRYABLE: ReadonlySet<string> = new Set([
  'Sandbox.StartFailed',
  'Sandbox.EnvironmentHung',
  'Sandbox.EnvironmentDied',
  'Sandbox.EnvironmentKilled',
  'Sandbox.EnvironmentClosed',
] satisfies SandboxFailureType[]);

/**
 * Every error that `sandbox/` throws on purpose. Activities map its stable `type` to failures;
 * `contracts/failures/sandbox.ts` has the meaning of each.
 *
 * `Sandbox.EnvironmentKilled`: something outside the jail killed the process: a person, or the kernel when the machine
 * had no memory left. It says nothing about the environment. An environment that kills itself looks the same, so repeat
 * the interrupted work only a few times.
 */
export class SandboxError extends Error {
  /** Where the environment's source failed, one `file:line in function: source` a line; null when it did not raise. */
  readonly traceback: string | null;

  constructor(
    readonly type: FailureType | SandboxFailureType,
    message: string,
    { traceback = null, ...options }: ErrorOptions & { traceback?: string | null } = {},
  ) {
    super(message, options);
    this.name = type.replace(/^Sandbox\./, '');
    this.traceback = traceback;
  }

  /** Whether trying again with a new process can help. */
  get retryable(): boolean {
    return RETRYABLE.has(this.type);
  }
}

/** A layer of the jail is missing, so the code is not run. The message names the layer and the remedy. */
export class SandboxUnavailable extends SandboxError {
  /** @param consequence the end of the sentence that begins with "The jail cannot be started, so". */
  constructor(
    readonly missing: readonly string[],
    consequence = 'no generated code is run',
  ) {
    super('Sandbox.Unavailable', `The jail cannot be started, so ${consequence}. ${missing.join(' ')}`);
  }
}
