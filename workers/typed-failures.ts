import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { failure } from '../contracts/typed-failure';
import { StoreConflictError, StoreCorruptError } from '../store';

/**
 * What an activity throws as a failure with a type of FAILURES, so that retries and holds are decided by what went
 * wrong. Errors that are no fault of the stored data stay as they are: Temporal repeats the activity.
 */
export function typedFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure) return error;
  if (error instanceof StoreCorruptError || error instanceof StoreConflictError)
    return failure(error.type, error.message, { cause: error });
  // Requests and answers are checked where they arrive; what is left has been read from the store.
  if (error instanceof z.ZodError) {
    return failure(
      'Store.Corrupt',
      `A stored document does not have the form that this version expects.\n${z.prettifyError(error)}`,
      { cause: error },
    );
  }
  return error;
}

/** Gives every activity's failures their type. */
export const typedFailures = (): { inbound: ActivityInboundCallsInterceptor } => ({
  inbound: {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        throw typedFailure(error);
      }
    },
  },
});
