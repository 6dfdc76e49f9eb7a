import { WorkflowNotFoundError } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { repairWorkflowId } from '../../../contracts/names';

/** Whether the trainers of a run may still be needed. `unknown`: this Temporal does not know the run. */
export type RunStatus = 'open' | 'over' | 'unknown';

/** Asks for the status of a run. Rejects when Temporal does not answer. */
export type ReadRunStatus = (runId: string) => Promise<RunStatus>;

/**
 * Reads whether a run is open. A run also counts as open while its repair is open: a repair may train for a run that
 * has ended.
 * @throws the error of Temporal's client if it does not answer.
 */
export async function readRunStatus(client: Client, runId: string): Promise<RunStatus> {
  const [run, repair] = await Promise.all([statusOf(client, runId), statusOf(client, repairWorkflowId(runId))]);
  return run === 'open' || repair === 'open' ? 'open' : run;
}

/** A run with any other status, for example from a newer Temporal, may be open. */
const OVER: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT']);

async function statusOf(client: Client, workflowId: string): Promise<RunStatus> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return OVER.has(status.name) ? 'over' : 'open';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown';
    throw error;
  }
}
