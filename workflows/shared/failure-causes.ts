import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure, TimeoutFailure } from '@temporalio/workflow';

/**
 * The application failure that ended an activity or a child workflow. Null for anything else: a timeout, a
 * cancellation.
 */
export function applicationFailureOf(error: unknown): ApplicationFailure | null {
  const cause = innermost(error);
  return cause instanceof ApplicationFailure ? cause : null;
}

/**
 * The failure of an activity or a child workflow as a sentence. If the failure itself does not name the activity, the
 * sentence names it.
 */
export function messageOf(error: unknown): string {
  const cause = innermost(error);
  if (cause instanceof ApplicationFailure) return cause.message;
  const what = cause instanceof TimeoutFailure ? `ran into a timeout (${cause.timeoutType})` : messageOnly(cause);
  if (error instanceof ActivityFailure) return `The activity ${error.activityType}: ${what}`;
  if (error instanceof ChildWorkflowFailure) return `The child workflow ${error.execution.workflowId}: ${what}`;
  return what;
}

const messageOnly = (error: unknown) => (error instanceof Error ? error.message : String(error));

function innermost(error: unknown): unknown {
  let cause = error;
  while ((cause instanceof ActivityFailure || cause instanceof ChildWorkflowFailure) && cause.cause !== undefined)
    cause = cause.cause;
  return cause;
}
