import { Context } from '@temporalio/activity';

/**
 * Whether nobody waits for the activity's result any more, so that its job can be stopped. That is so when the activity
 * was cancelled, or when its run has ended. It is not so when the worker shuts down, or when Temporal has given this
 * attempt up: a later attempt takes the job over.
 * @param cause message of the cancellation, by which Temporal tells its cause. `NOT_FOUND` (Temporal does not know the
 *   activity) is said of an attempt that was given up and of a run that was terminated.
 */
export async function isAbandoned(cause: string): Promise<boolean> {
  if (cause !== 'NOT_FOUND') return cause === 'CANCELLED';
  const { client, info } = Context.current();
  const { workflowId, runId } = info.workflowExecution ?? { workflowId: '', runId: '' };
  return client.workflow
    .getHandle(workflowId, runId)
    .describe()
    .then(
      ({ status }) => status.name !== 'RUNNING' && status.name !== 'PAUSED',
      () => false,
    );
}
