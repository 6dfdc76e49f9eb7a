import { FAILURES, type FailureType } from '../contracts/failures';

export interface CliErrorOptions {
  /** 1: it failed. 2: what was asked for is wrong, and nothing was started. Default 1. */
  exitCode?: 1 | 2;
  /** Dotted, stable name for --json. Default `Cli.Failed`. */
  type?: string;
  cause?: unknown;
}

/** A failure whose message says what, where and what to do: shown as it is, without a stack. */
export class CliError extends Error {
  readonly exitCode: 1 | 2;
  readonly type: string;

  constructor(message: string, { exitCode = 1, type = 'Cli.Failed', cause }: CliErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.type = type;
  }
}

/** The catalogue's advice for a failure type; null for a type that is not in it. */
export function remedyFor(type: string | null): string | null {
  return type !== null && Object.hasOwn(FAILURES, type) ? FAILURES[type as FailureType].remedy : null;
}
