import type { Client } from '@temporalio/client';
import type { Agent } from '../agent';
import type { Output } from '../output';
import { OPEN_RUNS } from '../view/run-state';

/**
 * Open runs beside a diagnosis go on once its services are up, and ask the analyst as well. One of the same agent was
 * on other conversations or another agent.yaml: it is ended, and its labels stay for the new one. Of others it says how
 * to end them.
 */
export async function endEarlierRuns(client: Client, { path }: Agent, runId: string, out: Output): Promise<void> {
  for await (const { workflowId, memo } of client.workflow.list({ query: OPEN_RUNS })) {
    if (workflowId === runId) continue;
    if (memo?.['specPath'] === path) {
      await client.workflow.getHandle(workflowId).cancel();
      out.line(`ended ${workflowId}, because the conversations or the agent.yaml have changed; its labels are kept`);
    } else out.line(`${workflowId} goes on beside it; \`whet cancel ${workflowId}\` ends it`);
  }
}
