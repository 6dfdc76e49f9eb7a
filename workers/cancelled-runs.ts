import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';

/** Within this time the workflow has taken its cancellation up, and Temporal drops the activity. */
const TRY_AGAIN = '10 seconds';

/**
 * Interceptor that begins no activity of a run that is being cancelled or has ended. It matters when a worker returns:
 * it may get an activity before the workflow, which has yet to hear of the cancellation, and would start a trainer for
 * nobody.
 */
export const cancelledRunInterceptor = (): { inbound: ActivityInboundCallsInterceptor } => ({
  inbound: {
    async execute(input, next) {
      if (await isRunGivenUp())
        throw ApplicationFailure.create({
          message: 'The run was cancelled or has ended, so this is not begun.',
          nextRetryDelay: TRY_AGAIN,
        });
      return next(input);
    },
  },
});

async function isRunGivenUp(): Promise<boolean> {
  const { info, client } = Context.current();
  // Children have the id of their run before the first slash; they hear of the cancellation after it.
  const runId = info.workflowExecution?.workflowId.split('/')[0];
  if (runId === undefined) return false;
  try {
    const { raw, status } = await client.workflow.getHandle(runId).describe();
    return raw.workflowExtendedInfo?.cancelRequested === true || !['RUNNING', 'PAUSED'].includes(status.name);
  } catch {
    // A server that gives no answer gives no cancellation either.
    return false;
  }
}
