import type { FailureType } from '../contracts/failures/run';

/**
 * Exit codes after which another start of the trainer would fail the same way: an exception of Python (1), wrong
 * arguments (2), the trainer's own refusals (64 to 66; docs/protocols.md, section 6), and an entry point that cannot be
 * run (126) or is not there (127).
 */
export const FATAL_EXIT_CODES = [1, 2, 64, 65, 66, 126, 127];
/** The trainer found another one at work in its directory. */
export const LOCKED_EXIT_CODE = 75;
/** The trainer was stopped by SIGTERM, after it had saved a checkpoint. */
export const STOPPED_EXIT_CODE = 143;

/**
 * Exit codes with a failure of their own (docs/protocols.md, section 6). The trainer of a pack ends with the code of a
 * training that failed in it.
 */
export const EXIT_CODE_FAILURES: Readonly<Record<number, FailureType>> = {
  64: 'Trainer.JobInvalid',
  65: 'Trainer.EnvironmentFailed',
  66: 'Trainer.Diverged',
};
