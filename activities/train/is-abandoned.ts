import { Context } from '@temporalio/activity';

/**
 * Whether nobody waits for the job any more. A worker that shuts down, or an attempt that Temporal has given up, says
 * nothing about the job itself; an activity that Temporal does not know belongs to such an attempt, or to a run that
 * was terminated.
 * @param cancelled the message of the cancellation: Temporal's word for its cause.
 */
export async function isAbandoned(cancelled: string): Promise<boolean> {
  if (cancelled !== 'NOT_FOUND') return cancelled === 'CANCELLED';
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
