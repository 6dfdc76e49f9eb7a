import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import { failure } from '../contracts/typed-failure';
import { startOf, wellFormed } from '../contracts/clean-text';
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

/** Temporal puts a text without a type in place of a larger failure of an activity that it will try again. */
const MOST_BYTES = 4_096;
/** Characters of the message of a failure that would be larger: at most three bytes each. */
const MOST_MESSAGE = 1_200;

/**
 * A failure that Temporal keeps with its type. A larger one loses its causes, its stack and the end of its message, and
 * its details where they are long.
 */
function fitting(error: unknown): unknown {
  if (!(error instanceof ApplicationFailure) || error.nonRetryable === true || bytesOf(error) <= MOST_BYTES)
    return error;
  const { message, type, details } = error;
  const delay = error.nextRetryDelay as number | undefined;
  const shorterWith = (kept: typeof details) => {
    const shorter = ApplicationFailure.create({
      message: startOf(message, MOST_MESSAGE),
      ...(type != null && { type }),
      ...(delay !== undefined && { nextRetryDelay: delay }),
      ...(kept != null && { details: kept }),
    });
    shorter.stack = '';
    return shorter;
  };
  const fits = shorterWith(details);
  return bytesOf(fits) <= MOST_BYTES ? fits : shorterWith(null);
}

/**
 * About how many bytes a failure has in Temporal's protocol, with those of its causes. The 200 are for the protocol and
 * for the sentence that `repeatedFailureInterceptor` adds later.
 */
function bytesOf(error: unknown): number {
  if (!(error instanceof Error)) return 0;
  const { message, stack = '', cause } = error;
  const details = error instanceof ApplicationFailure ? JSON.stringify(error.details ?? []) : '';
  return 200 + Buffer.byteLength(message + stack + details) + bytesOf(cause);
}

/** Interceptor that gives the failures of all activities their type, and makes their words well formed and few. */
export const failureInterceptor = (): { inbound: ActivityInboundCallsInterceptor } => ({
  inbound: {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        throw fitting(wellSaid(toTypedFailure(error)));
      }
    },
  },
});
