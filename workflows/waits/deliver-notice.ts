import { proxyActivities } from '@temporalio/workflow';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { NoticeInput } from '../../contracts/messages/run';
import { activityOptions } from '../shared/activities';
import { nameInSummary } from '../shared/single-line';

/**
 * A receiver that is down for an hour still gets its notices. A receiver that is gone for good causes no more attempts
 * than this.
 */
const { sendNotice } = proxyActivities<Pick<OrchestrationActivities, 'sendNotice'>>({
  ...activityOptions.orchestration,
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '6 hours',
  retry: { ...activityOptions.orchestration.retry, maximumAttempts: 20, maximumInterval: '15 minutes' },
});

/**
 * Posts one notice of a run to the agent's webhook. It is a separate workflow, and its run does not wait for it. So a
 * receiver that does not answer delays nothing. Throws when no attempt was accepted.
 */
export async function deliverNotice(input: NoticeInput): Promise<void> {
  await sendNotice.executeWithOptions({ summary: `${input.notice.kind}: ${nameInSummary(input.runId)}` }, [input]);
}
