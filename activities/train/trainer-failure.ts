import type { ApplicationFailure } from '@temporalio/common';
import type { TrainingFailure } from '../../contracts/artifacts/training';
import { FAILURES, type FailureType } from '../../contracts/failures/run';
import { EXIT_CODE_FAILURES, FATAL_EXIT_CODES, howItEnded } from '../../k8s/exit-codes';
import { failure } from '../../contracts/typed-failure';
import type { Training } from './backend';
import { retryOf, trainerOf } from './describe-training';
import { memberNames } from './trainer-group';

/** How a trainer of this machine ended. */
export interface TrainerEnd {
  /** Exit code; null if the process was killed together with the shell that records the exit code. */
  code: number | null;
  /** The relevant lines of its log. */
  log: string;
  logPath: string;
  /** The group's iterations in checkpoints. */
  iterations: number;
  /** Number of starts since its last checkpoint. */
  starts: number;
}

/** Delay before the next start if the disk is full, because nobody makes room within seconds. */
export const DISK_RETRY = '60 seconds';

/** The parts of a training that a failure's text uses. */
type Named = Pick<Training, 'kind' | 'input'>;

/** The consequence of a failure, as a sentence with a leading space. */
function whatHappensNext(training: Named, type: FailureType, iterations: number): string {
  if (!FAILURES[type].retryable) return ` ${retryOf(training)}, once the cause is gone.`;
  if (training.kind === 'trial') return type === 'Trainer.DiskFull' ? ' It is tried again every minute.' : '';
  const from = iterations === 0 ? 'from the beginning, since it has no checkpoint yet' : 'from its last checkpoint';
  return type === 'Trainer.DiskFull' ? ` It is started again every minute, ${from}.` : ` It is started again ${from}.`;
}

const typeOf = (code: number | null): FailureType =>
  (code === null ? undefined : EXIT_CODE_FAILURES[code]) ?? 'Trainer.Died';

/**
 * The failure of a trainer that ended without a manifest. It is started again, unless the failure's type waits for a
 * person.
 */
export function trainerFailure(training: Named, { code, log, logPath, iterations }: TrainerEnd): ApplicationFailure {
  const type = typeOf(code);
  const next = whatHappensNext(training, type, iterations);
  return failure(
    type,
    `${trainerOf(training)} ${howItEnded(code)} and left no manifest.${next} Its log is ${logPath}.${quoted(log)}`,
    type === 'Trainer.DiskFull' ? { nextRetryDelay: DISK_RETRY } : {},
  );
}

/** The failure of a trainer that was started repeatedly without a new checkpoint: it waits for a person. */
export function stuckFailure(
  training: Named,
  { code, log, logPath, iterations, starts }: TrainerEnd,
): ApplicationFailure {
  const reached = iterations === 0 ? 'without making a checkpoint' : 'without reaching another checkpoint';
  const since = training.kind === 'trial' ? 'and did not end by itself' : reached;
  return failure(
    'Trainer.Failed',
    `${trainerOf(training)} was started ${starts} times ${since}; the last one ${howItEnded(code)}. ` +
      `${retryOf(training)}. Its log is ${logPath}.${quoted(log)}`,
  );
}

const quoted = (log: string): string => (log === '' ? '' : ` Its last lines:\n${log}`);

/**
 * The failure of one training whose trainer continues with others. Its type is the type that its exit code would have
 * for a single training on the same backend.
 */
export function trainingFailure(
  { input, prepared, group }: Training,
  { code, message }: TrainingFailure,
): ApplicationFailure {
  const isFatal = prepared.spec.training.backend === 'kubernetes' && FATAL_EXIT_CODES.includes(code);
  const type = EXIT_CODE_FAILURES[code] ?? (isFatal ? 'Trainer.Failed' : 'Trainer.Died');
  const next = FAILURES[type].retryable ? ' It is started again from its last checkpoint, without the others.' : '';
  return failure(
    type,
    `The training of ${input.job} ${howItEnded(code)}; the other trainings of its trainer ` +
      `(${memberNames(group)}) go on.${next} It said: ${message} The trainer's log is in ${group.directory}.`,
  );
}
