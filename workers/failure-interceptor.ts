import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { failure } from '../contracts/typed-failure';
import { diskError, isStoreError } from '../store';

/**
 * Turns errors of the store, and of documents read from it, into failures with a type of FAILURES. The type decides
 * whether Temporal tries again and whether the run waits for a person. Every other error is returned unchanged;
 * Temporal tries again.
 */
export function toTypedFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure) return error;
  // Other libraries meet a full disk, too, so errors of the operating system count as well.
  const storeError = isStoreError(error) ? error : diskError(error);
  if (storeError !== null) return failure(storeError.type, storeError.message, { cause: storeError });
  // Requests and answers are checked where they arrive, so a document that fails its schema here is from the store.
  if (error instanceof z.ZodError) {
    return failure(
      'Store.Corrupt',
      `A document in the store does not have the form that this version expects.\n${z.prettifyError(error)}`,
      { cause: error },
    );
  }
  return error;
}

/** Interceptor that gives the failures of all activities their type. */
export const failureInterceptor = (): { inbound: ActivityInboundCallsInterceptor } => ({
  inbound: {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        throw toTypedFailure(error);
      }
    },
  },
});
