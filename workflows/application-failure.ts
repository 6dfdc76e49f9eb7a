import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from '@temporalio/workflow';

/**
 * The application failure that an activity or a child workflow ended with. Null for anything else: a timeout, a
 * cancellation.
 */
export function applicationFailureOf(error: unknown): ApplicationFailure | null {
  let cause: unknown = error;
  while (cause instanceof ActivityFailure || cause instanceof ChildWorkflowFailure) cause = cause.cause;
  return cause instanceof ApplicationFailure ? cause : null;
}
