/** Typed proxies of the activities, one per task queue, with their timeouts and retries. */
import { ActivityCancellationType, proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import { FAILURES } from '../../contracts/failures/run';
import { HEARTBEAT_MS } from '../../contracts/limits';
import type {
  JobActivities,
  LlmActivities,
  OrchestrationActivities,
  SandboxActivities,
} from '../../contracts/messages/activities';
import { type QueueKind, TASK_QUEUES } from '../../contracts/names';

/**
 * The number of attempts is unlimited: a dying worker costs an attempt, and a run must survive any number of deaths. An
 * activity that keeps failing is shown in the run's progress table (workers/repeated-failures.ts).
 */
const retry: ActivityOptions['retry'] = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '30s',
  nonRetryableErrorTypes: Object.entries(FAILURES).flatMap(([type, { retryable }]) => (retryable ? [] : [type])),
};

/** For activities that may take hours. Temporal notices a dead worker by its missing heartbeats. */
const longRunning: ActivityOptions = { startToCloseTimeout: '24 hours', retry };

/** Timeouts and retries of the activities of each task queue. */
export const activityOptions: Record<QueueKind, ActivityOptions> = {
  orchestration: {
    taskQueue: TASK_QUEUES.orchestration,
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: HEARTBEAT_MS.timeout.orchestration,
    retry,
  },
  llm: { ...longRunning, taskQueue: TASK_QUEUES.llm, heartbeatTimeout: HEARTBEAT_MS.timeout.llm },
  sandbox: { ...longRunning, taskQueue: TASK_QUEUES.sandbox, heartbeatTimeout: HEARTBEAT_MS.timeout.sandbox },
  jobs: {
    ...longRunning,
    taskQueue: TASK_QUEUES.jobs,
    heartbeatTimeout: HEARTBEAT_MS.timeout.jobs,
    // A cancelled run must not end before its trainers, because they hold the GPUs until then.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  },
};

/** Short, local work. */
export const orchestration = proxyActivities<OrchestrationActivities>(activityOptions.orchestration);

/** Checks before a run. It hashes the base model, which may take long, and reports its progress. */
export const preparation = proxyActivities<Pick<OrchestrationActivities, 'prepareRun'>>({
  ...activityOptions.orchestration,
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: HEARTBEAT_MS.timeout.sandbox,
});

/** Calls to the analyst. */
export const llm = proxyActivities<LlmActivities>(activityOptions.llm);

/** Environments and rollouts. */
export const sandbox = proxyActivities<SandboxActivities>(activityOptions.sandbox);

/** Trainings. */
export const jobs = proxyActivities<JobActivities>(activityOptions.jobs);
