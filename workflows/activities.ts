/** Typed proxies of the activities, one per task queue, with the time limits of each. */
import { ActivityCancellationType, proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import type {
  JobActivities,
  LlmActivities,
  OrchestrationActivities,
  SandboxActivities,
} from '../contracts/messages/activities';
import { FAILURES } from '../contracts/failures/run';
import { TASK_QUEUES } from '../contracts/names';

const retry: ActivityOptions['retry'] = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '30s',
  nonRetryableErrorTypes: Object.entries(FAILURES).flatMap(([type, { retryable }]) => (retryable ? [] : [type])),
};

/** Short, local work. */
export const orchestration = proxyActivities<OrchestrationActivities>({
  taskQueue: TASK_QUEUES.orchestration,
  startToCloseTimeout: '10 minutes',
  retry: { ...retry, maximumAttempts: 20 },
});

/** Long work heartbeats every second or so; a dead worker is noticed after `heartbeatTimeout`. */
const long: ActivityOptions = { startToCloseTimeout: '24 hours', heartbeatTimeout: '10s', retry };

export const llm = proxyActivities<LlmActivities>({ ...long, heartbeatTimeout: '15s', taskQueue: TASK_QUEUES.llm });
export const sandbox = proxyActivities<SandboxActivities>({ ...long, taskQueue: TASK_QUEUES.sandbox });
export const jobs = proxyActivities<JobActivities>({
  ...long,
  heartbeatTimeout: '15s',
  taskQueue: TASK_QUEUES.jobs,
  // A cancelled run ends when its trainers have: their GPUs are free then.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  // A trainer that keeps dying at the same place will not be cured by an eleventh start.
  retry: { ...retry, maximumAttempts: 10 },
});
