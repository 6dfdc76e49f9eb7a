import { ApplicationFailure, type ApplicationFailureOptions } from '@temporalio/common';
import { FAILURES, type FailureType } from './failures/run';

/**
 * Creates the ApplicationFailure of a type in the catalogue. The type decides whether Temporal retries it;
 * `options.nonRetryable` overrides that for a single failure.
 */
export function failure(
  type: FailureType,
  message: string,
  options: Omit<ApplicationFailureOptions, 'type' | 'message'> = {},
): ApplicationFailure {
  return ApplicationFailure.create({ nonRetryable: !FAILURES[type].retryable, ...options, type, message });
}

/** Whether the error is an ApplicationFailure of this type. */
export function isFailure(error: unknown, type: FailureType): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.type === type;
}
