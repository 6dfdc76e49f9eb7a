import { COMMAND_FAILURES, type CommandFailureType } from '../contracts/failures/command-line';
import { FAILURES, type FailureType } from '../contracts/failures/run';
import type { SandboxFailureType } from '../contracts/failures/sandbox';

/** Every type of the catalogue (docs/reference/errors.md), and the types of failed runs and environments. */
type CatalogueType = CommandFailureType | FailureType | SandboxFailureType;

/** The parts of a `CliError` other than its message. */
export interface CliErrorOptions {
  /** 1: it failed. 2: wrong input, and nothing was started. Default: the catalogue's, else 1. */
  exitCode?: 1 | 2;
  /** Dotted, stable name for --json. Default `Cli.Failed`. */
  type?: CatalogueType;
  /** Type of a run's failure according to the server, in the catalogue or not; shown instead of `type`. */
  reportedType?: string | null;
  cause?: unknown;
}

/** A failure whose message gives the problem, the place and the remedy: it is shown unchanged, without a stack. */
export class CliError extends Error {
  readonly exitCode: 1 | 2;
  readonly type: string;

  constructor(message: string, options: CliErrorOptions = {}) {
    const { type = 'Cli.Failed', exitCode = exitCodeOf(type), reportedType = null, cause } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.type = reportedType ?? type;
  }
}

const exitCodeOf = (type: CatalogueType): 1 | 2 =>
  type in COMMAND_FAILURES ? COMMAND_FAILURES[type as CommandFailureType].exitCode : 1;

/** The catalogue's advice for a failure of a run; null for an unknown type. */
export function remedyFor(type: string | null): string | null {
  return type !== null && Object.hasOwn(FAILURES, type) ? FAILURES[type as FailureType].remedy : null;
}
