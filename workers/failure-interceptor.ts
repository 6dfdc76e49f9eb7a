import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { failure } from '../contracts/typed-failure';
import { wellFormed } from '../contracts/clean-text';
import { diskError, isStoreError } from '../store';

/**
 * Turns errors of the store, and of documents read from it, into failures with a type of FAILURES. The type decides
 * whether Temporal tries again and whether the run waits for a person. Every other error is returned unchanged, and
 * Temporal retries it.
 */
export function toTypedFailure(error: unknown): unknown {
  if (error instanceof ApplicationFailure) return error;
  // Other libraries also meet a full disk, so errors of the operating system count as well.
  const storeError = isStoreError(error) ? error : diskError(error);
  if (storeError !== null) return failure(storeError.type, storeError.message, { cause: storeError });
  // Requests and answers are checked on arrival. So a document that fails its schema here comes from the store.
  if (error instanceof z.ZodError) {
    return failure(
      'Store.Corrupt',
      `A document in the store does not have the form that this version expects.\n${z.prettifyError(error)}`,
      { cause: error },
    );
  }
  return error;
}

/**
 * The error, with U+FFFD for each half of a surrogate pair in its words and those of its causes. Temporal's protocol is
 * UTF-8, and the worker could not send the failure.
 */
function wellSaid(error: unknown): unknown {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (wellFormed(one.message) !== one.message) one.message = wellFormed(one.message);
    if (one.stack !== undefined && wellFormed(one.stack) !== one.stack) one.stack = wellFormed(one.stack);
  }
  return error;
}

/** Interceptor that gives the failures of all activities their type, and makes their words well formed. */
export const failureInterceptor = (): { inbound: ActivityInboundCallsInterceptor } => ({
  inbound: {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        throw wellSaid(toTypedFailure(error));
      }
    },
  },
});
