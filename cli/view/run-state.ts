import {
  type Client,
  type DescribeWorkflowExecutionResponse,
  TemporalFailure,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import { MESSAGES, SEARCH_ATTRIBUTES, WORKFLOWS } from '../../contracts/names';
import type { StageProgress } from '../../contracts/messages/run-context';
import type { ImprovementRunResult, RunProgress } from '../../contracts/messages/run';
import { CliError } from '../errors';
import { lastPollAt, toMilliseconds } from '../pollers';
import { fromPayload } from '../temporal';
import { promptly } from '../temporal-errors';
import { type QueueWorker, readWorkers } from './task-queue-workers';

/** A failure in the server's words. */
export interface ReportedFailure {
  type: string | null;
  message: string;
}

/** An activity that has not ended. Times are milliseconds since 1970. */
export interface PendingActivity {
  workflowId: string;
  activityType: string;
  taskQueue: string;
  status: 'scheduled' | 'started' | 'backing-off' | 'paused' | 'cancelling';
  attempt: number;
  maximumAttempts: number | null;
  progress: StageProgress | null;
  heartbeatAt: number | null;
  scheduledAt: number | null;
  startedAt: number | null;
  nextAttemptAt: number | null;
  lastFailure: ReportedFailure | null;
  /** The worker of the current or the last attempt, as `QueueWorker.identity`; null before the first. */
  workerIdentity: string | null;
}

/** A workflow of the run whose next workflow task no worker has taken yet, or whose last one failed. */
interface PendingWorkflowTask {
  workflowId: string;
  taskQueue: string;
  attempt: number;
  scheduledAt: number | null;
}

/** Everything that the server and the workflow say about a run at one moment. Times are milliseconds since 1970. */
export interface RunState {
  runId: string;
  agent: string | null;
  status: 'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed-out' | 'unknown';
  startedAt: number;
  closedAt: number | null;
  /** Null if no worker answered the query. */
  progress: RunProgress | null;
  activities: PendingActivity[];
  steps: PendingWorkflowTask[];
  /**
   * Time of the last poll by task queue; null: no worker polled within the last minutes. It contains only queues on
   * which something waits.
   */
  pollers: Record<string, number | null>;
  /** Workers according to their heartbeats to the server; null if it records none. */
  workers: QueueWorker[] | null;
  result: ImprovementRunResult | null;
  failure: ReportedFailure | null;
  now: number;
}

type Raw = DescribeWorkflowExecutionResponse;
type RawActivity = NonNullable<Raw['pendingActivities']>[number];

/** temporal.api.enums.v1.PendingActivityState */
const ACTIVITY_STARTED = 2;
const ACTIVITY_CANCEL_REQUESTED = 3;
/** temporal.api.enums.v1.PendingWorkflowTaskState */
const STEP_STARTED = 2;

interface RawFailure {
  message?: string | null;
  cause?: RawFailure | null;
  applicationFailureInfo?: { type?: string | null } | null;
  timeoutFailureInfo?: unknown;
}

/**
 * The first application failure or time-out of the chain: failures of activities and child workflows only wrap it. Its
 * own cause, such as an error of the system, says less: neither the field nor what to do.
 */
export function reportedFailure(failure: RawFailure | null | undefined): ReportedFailure | null {
  if (failure === null || failure === undefined) return null;
  if (failure.applicationFailureInfo)
    return { type: failure.applicationFailureInfo.type || null, message: failure.message ?? '' };
  if (failure.timeoutFailureInfo) return { type: 'Timeout', message: failure.message ?? 'timed out' };
  return reportedFailure(failure.cause) ?? { type: null, message: failure.message ?? '' };
}

function stageProgress(activity: RawActivity): StageProgress | null {
  const payload = activity.heartbeatDetails?.payloads?.[0];
  if (!payload) return null;
  const details = fromPayload(payload) as Partial<StageProgress> | null;
  return typeof details?.done === 'number' && typeof details.total === 'number' ? (details as StageProgress) : null;
}

function pendingActivity(workflowId: string, activity: RawActivity, now: number): PendingActivity {
  const nextAttemptAt = toMilliseconds(activity.nextAttemptScheduleTime);
  const status = (): PendingActivity['status'] => {
    if (activity.paused) return 'paused';
    if (Number(activity.state) === ACTIVITY_CANCEL_REQUESTED) return 'cancelling';
    if (Number(activity.state) === ACTIVITY_STARTED) return 'started';
    return nextAttemptAt !== null && nextAttemptAt > now ? 'backing-off' : 'scheduled';
  };
  return {
    workflowId,
    activityType: activity.activityType?.name ?? '?',
    taskQueue: activity.activityOptions?.taskQueue?.name ?? '',
    status: status(),
    attempt: activity.attempt ?? 1,
    maximumAttempts: activity.maximumAttempts || null,
    progress: stageProgress(activity),
    heartbeatAt: toMilliseconds(activity.lastHeartbeatTime),
    scheduledAt: toMilliseconds(activity.scheduledTime),
    startedAt: toMilliseconds(activity.lastStartedTime),
    nextAttemptAt,
    lastFailure: reportedFailure(activity.lastFailure),
    workerIdentity: activity.lastWorkerIdentity || null,
  };
}

const STATUS: Partial<Record<WorkflowExecutionDescription['status']['name'], RunState['status']>> = {
  RUNNING: 'running',
  PAUSED: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  TIMED_OUT: 'timed-out',
};

/**
 * Asks the server and the run's workflow for the run's progress, including child workflows. Rejects if there is no
 * answer within fifteen seconds. @throws WorkflowNotFoundError if there is no such run.
 */
export function readRunState(client: Client, runId: string): Promise<RunState> {
  return promptly(client, () => askServer(client, runId));
}

async function askServer(client: Client, runId: string): Promise<RunState> {
  const now = Date.now();
  const description = await client.workflow.getHandle(runId).describe();
  const status = STATUS[description.status.name] ?? 'unknown';
  const tree = status === 'running' ? await describeTree(client, description) : [];
  const activities = tree.flatMap((d) =>
    (d.raw.pendingActivities ?? []).map((a) => pendingActivity(d.workflowId, a, now)),
  );
  const steps = tree.flatMap((d) => pendingStep(d));
  const queues = [
    ...new Set([
      ...activities.filter((a) => a.status === 'scheduled').map((a) => a.taskQueue),
      ...steps.map((s) => s.taskQueue),
    ]),
  ].filter(Boolean);
  const [progress, outcome, pollers, workers] = await Promise.all([
    readProgress(client, runId),
    status === 'running' ? { result: null, failure: null } : readOutcome(client, runId),
    Promise.all(queues.map(async (queue) => [queue, await lastPollAt(client, queue)] as const)),
    status === 'running' ? readWorkers(client, now) : null,
  ]);
  return {
    runId,
    agent: progress?.agent ?? agentOf(description),
    status,
    startedAt: description.startTime.getTime(),
    closedAt: description.closeTime?.getTime() ?? null,
    progress,
    activities,
    steps,
    pollers: Object.fromEntries(pollers),
    workers,
    ...outcome,
    now,
  };
}

/** The server's query for improvement runs that have not ended. */
export const OPEN_RUNS = `WorkflowType = '${WORKFLOWS.improvementRun}' AND ExecutionStatus = 'Running'`;

/** The end of a run: its verdict, else the server's status. */
export const endOf = ({ result, status }: Pick<RunState, 'result' | 'status'>): string => result?.verdict ?? status;

/** Refuses a run that has ended; `consequence` is the end of the sentence. @throws CliError `Run.Ended` */
export function requireRunning(state: RunState, consequence: string): void {
  if (state.status === 'running') return;
  throw new CliError(`${state.runId} has ended (${endOf(state)}), ${consequence}.`, { type: 'Run.Ended' });
}

/** The agent according to a run's search attribute or memo; null if neither names it. */
export function agentOf(description: {
  memo?: Record<string, unknown>;
  searchAttributes: Record<string, unknown>;
}): string | null {
  const [first] = (description.searchAttributes[SEARCH_ATTRIBUTES.agent] as string[] | undefined) ?? [];
  return first ?? (typeof description.memo?.['agent'] === 'string' ? description.memo['agent'] : null);
}

async function describeTree(
  client: Client,
  root: WorkflowExecutionDescription,
): Promise<WorkflowExecutionDescription[]> {
  const children = await Promise.all(
    (root.raw.pendingChildren ?? []).map(async ({ workflowId }) => {
      if (!workflowId) return [];
      // A child that has ended since its parent was described is no longer pending.
      const child = await client.workflow
        .getHandle(workflowId)
        .describe()
        .catch(() => null);
      return child === null ? [] : describeTree(client, child);
    }),
  );
  return [root, ...children.flat()];
}

function pendingStep(description: WorkflowExecutionDescription): PendingWorkflowTask[] {
  const task = description.raw.pendingWorkflowTask;
  if (!task || (Number(task.state) === STEP_STARTED && (task.attempt ?? 1) <= 1)) return [];
  return [
    {
      workflowId: description.workflowId,
      taskQueue: description.taskQueue,
      attempt: task.attempt ?? 1,
      scheduledAt: toMilliseconds(task.scheduledTime),
    },
  ];
}

/** The worker's view of a run; null if no worker answers within two seconds. */
export async function readProgress(client: Client, runId: string): Promise<RunProgress | null> {
  try {
    // Two seconds: without a worker, the server would let the query wait for half a minute.
    return await client.withDeadline(Date.now() + 2_000, () =>
      client.workflow.getHandle(runId).query<RunProgress>(MESSAGES.progressQuery),
    );
  } catch {
    return null;
  }
}

async function readOutcome(
  client: Client,
  runId: string,
): Promise<{ result: ImprovementRunResult | null; failure: ReportedFailure | null }> {
  try {
    return { result: (await client.workflow.getHandle(runId).result()) as ImprovementRunResult, failure: null };
  } catch (error) {
    return { result: null, failure: failureOfWorkflow(error as Error) };
  }
}

/** As `reportedFailure`, of the error with which a client says that a workflow has failed. */
export function failureOfWorkflow({ message, cause }: Error): ReportedFailure {
  const reported = cause instanceof TemporalFailure ? reportedFailure(cause.failure) : null;
  return reported ?? { type: null, message: cause instanceof Error ? cause.message : message };
}
