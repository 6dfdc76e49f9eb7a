import { ApplicationFailure, type ApplicationFailureOptions } from '@temporalio/common';
import { FAILURES, type FailureType } from '../contracts/failures';

/**
 * An ApplicationFailure of the catalogue; whether Temporal may retry it follows from its type, unless `nonRetryable`
 * says that this time it cannot get better.
 */
export function failure(
  type: FailureType,
  message: string,
  options: Omit<ApplicationFailureOptions, 'type' | 'message'> = {},
): ApplicationFailure {
  return ApplicationFailure.create({ nonRetryable: !FAILURES[type].retryable, ...options, type, message });
}

/** True when the error is a failure of the catalogue with this type. */
export function isFailure(error: unknown, type: FailureType): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.type === type;
}
