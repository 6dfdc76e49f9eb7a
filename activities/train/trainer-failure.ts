import type { ApplicationFailure } from '@temporalio/common';
import type { FailureType } from '../../contracts';
import { failure } from '../../llm';

const TYPES: Record<number, FailureType> = { 64: 'Trainer.JobInvalid', 65: 'Trainer.EnvironmentFailed', 66: 'Trainer.Diverged' };

/**
 * The failure that the end of a trainer without a manifest means.
 * @param code exit code; null when the process was killed together with the shell that would have kept it.
 * @param log the last lines that it wrote.
 */
export function trainerFailure(job: string, code: number | null, log: string, logPath: string): ApplicationFailure {
  const type = (code === null ? undefined : TYPES[code]) ?? 'Trainer.Died';
  const how = code === null ? 'was killed' : code > 128 ? `was ended by signal ${code - 128}` : `ended with code ${code}`;
  const tail = log === '' ? '' : ` Its last words:\n${log}`;
  const next = type === 'Trainer.Died' ? ' It is started again from its last checkpoint.' : '';
  return failure(type, `The trainer of ${job} ${how} and left no manifest.${next} Its log is ${logPath}.${tail}`);
}
