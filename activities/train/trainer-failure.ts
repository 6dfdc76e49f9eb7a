import type { ApplicationFailure } from '@temporalio/common';
import type { TrainingFailure } from '../../contracts/artifacts/training';
import type { FailureType } from '../../contracts/failures/run';
import { FATAL_EXIT_CODES, EXIT_CODE_FAILURES } from '../../k8s/exit-codes';
import { failure } from '../../contracts/typed-failure';
import type { Training } from './backend';
import { memberNames } from './trainer-group';

const failureTypeOf = (code: number | null): FailureType =>
  (code === null ? undefined : EXIT_CODE_FAILURES[code]) ?? 'Trainer.Died';

/**
 * The failure of a trainer that ended without a manifest.
 * @param code exit code; null when the process was killed together with the shell that records its exit code.
 * @param log the last lines of its log.
 */
export function trainerFailure(job: string, code: number | null, log: string, logPath: string): ApplicationFailure {
  const type = failureTypeOf(code);
  const how =
    code === null ? 'was killed' : code > 128 ? `was ended by signal ${code - 128}` : `ended with code ${code}`;
  const tail = log === '' ? '' : ` Its last lines:\n${log}`;
  const next = type === 'Trainer.Died' ? ' It is started again from its last checkpoint.' : '';
  return failure(type, `The trainer of ${job} ${how} and left no manifest.${next} Its log is ${logPath}.${tail}`);
}

/**
 * The failure of one training whose trainer goes on with others. Its type is the one that its exit code would have if
 * it had trained alone on the same backend.
 */
export function trainingFailure(
  { input, prepared, group }: Training,
  { code, message }: TrainingFailure,
): ApplicationFailure {
  const isFatal = prepared.spec.training.backend === 'kubernetes' && FATAL_EXIT_CODES.includes(code);
  const type = EXIT_CODE_FAILURES[code] ?? (isFatal ? 'Trainer.Failed' : 'Trainer.Died');
  const next = type === 'Trainer.Died' ? ' It is started again from its last checkpoint, without the others.' : '';
  return failure(
    type,
    `The training of ${input.job} ended with code ${code}; the other trainings of its trainer ` +
      `(${memberNames(group)}) go on.${next} It said: ${message} The trainer's log is in ${group.directory}.`,
  );
}
