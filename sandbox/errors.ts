import type { EnvironmentTokens } from '../contracts/artifacts/environment-use';
import type { FailureType } from '../contracts/failures/run';
import type { SandboxFailureType } from '../contracts/failures/sandbox';

/** Types whose request may succeed when it is tried again. An environment that raises will raise again. */
const RETRYABLE: ReadonlySet<string> = new Set([
  'Sandbox.StartFailed',
  'Sandbox.EnvironmentHung',
  'Sandbox.EnvironmentDied',
  'Sandbox.EnvironmentKilled',
  'Sandbox.EnvironmentClosed',
  'Sandbox.TaskFailed',
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
  /** What failed, of `Sandbox.TaskFailed`: a word such as `simulator`. Null for every other type. */
  readonly taskCause: string | null;
  /** Tokens that simulator and judge spent in the episode, of `Sandbox.TaskFailed`; null where nobody says. */
  readonly spent: EnvironmentTokens | null;

  constructor(
    readonly type: FailureType | SandboxFailureType,
    message: string,
    {
      traceback = null,
      taskCause = null,
      spent = null,
      ...options
    }: ErrorOptions & Partial<Pick<SandboxError, 'traceback' | 'taskCause' | 'spent'>> = {},
  ) {
    super(message, options);
    this.name = type.replace(/^Sandbox\./, '');
    this.traceback = traceback;
    this.taskCause = taskCause;
    this.spent = spent;
  }

  /** Whether trying again can help. */
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
