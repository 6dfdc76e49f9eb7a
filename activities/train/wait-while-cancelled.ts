import { Context } from '@temporalio/activity';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { WORKFLOWS } from '../../contracts/names';
import type { Clock } from '../clock';

const POLL_MS = 1_000;
/** PENDING_ACTIVITY_STATE_CANCEL_REQUESTED of Temporal's API. */
const CANCEL_REQUESTED: number = 3;

/**
 * Delays an attempt while its run is cancelled or has ended. Temporal delivers a cancellation only after a heartbeat,
 * and after the workflows have handled it. Until then, a restarted worker would start trainers. A repair may train for
 * a run that has ended; then only the state of the repair counts.
 * @param runId workflow id of the run.
 * @throws the signal's reason once the cancellation arrives.
 */
export async function waitWhileCancelled(runId: string, clock: Clock, signal: AbortSignal): Promise<void> {
  while (await isCancelled(runId)) await clock.sleep(POLL_MS, signal);
}

/** Whether the run, or this activity's workflow, is cancelled or has ended. False if that cannot be found out. */
async function isCancelled(runId: string): Promise<boolean> {
  try {
    const { client, info } = Context.current();
    const own = info.workflowExecution;
    const ids: [string, string?][] = info.workflowType === WORKFLOWS.repairArtifacts ? [] : [[runId]];
    if (own !== undefined) ids.push([own.workflowId, own.runId]);
    const described = await Promise.all(ids.map((id) => client.workflow.getHandle(...id).describe()));
    return described.some((one) => isUnwanted(one, info.activityId));
  } catch {
    return false;
  }
}

/** Whether a workflow's description says that nobody waits for its activity any more. */
export function isUnwanted({ status, raw }: WorkflowExecutionDescription, activityId: string): boolean {
  if (status.name !== 'RUNNING' && status.name !== 'PAUSED') return true;
  if (raw.workflowExtendedInfo?.cancelRequested === true) return true;
  const own = raw.pendingActivities?.find((pending) => pending.activityId === activityId);
  return Number(own?.state) === CANCEL_REQUESTED;
}
