import type { Client, WorkflowHandle } from '@temporalio/client';
import { MESSAGES, WORKFLOWS } from '../../contracts/names';
import { toMilliseconds } from '../pollers';
import { fromPayload } from '../temporal';

type HistoryEvent = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number];
type Scheduled = NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>;
type Payloads = Scheduled['input'];

/** An activity that a run or one of its child workflows has scheduled. */
export interface ScheduledActivity {
  activity: string;
  taskQueue: string;
  input: unknown;
  /** Milliseconds since 1970. */
  scheduledAtMs: number;
  /** Absent if it has not ended, or if it failed. */
  result?: unknown;
  /** Whether it may still end with a result. */
  open: boolean;
}

/** The events about artifacts in the histories of a run and its child workflows. */
export interface RunHistory {
  /** In the order in which they were scheduled. */
  activities: ScheduledActivity[];
  /** Inputs of the signal `edit`: environments that a person wrote, and that no activity can make again. */
  edits: unknown[];
}

/**
 * Reads the histories of a run and of all its child workflows. Child workflows `labelChunks` are left out, because
 * their activities name no artifact. Throws WorkflowNotFoundError if there is no such run.
 * @param onWorkflow called after each history, with the number of histories so far.
 */
export async function readRunHistory(
  client: Client,
  runId: string,
  onWorkflow: (histories: number) => void,
): Promise<RunHistory> {
  const history: RunHistory = { activities: [], edits: [] };
  const waiting: { workflowId: string; runId?: string }[] = [{ workflowId: runId }];
  for (let read = 1, next = waiting.shift(); next !== undefined; read++, next = waiting.shift()) {
    const { events } = await client.workflow.getHandle(next.workflowId, next.runId).fetchHistory();
    waiting.push(...readEvents(next.workflowId, events ?? [], history));
    onWorkflow(read);
  }
  history.activities.sort((a, b) => a.scheduledAtMs - b.scheduledAtMs);
  return history;
}

/** Adds the events of one history. Returns the child executions in it. */
function readEvents(
  workflowId: string,
  events: readonly HistoryEvent[],
  history: RunHistory,
): { workflowId: string; runId: string }[] {
  const scheduled = new Map<string, ScheduledActivity>();
  const next: { workflowId: string; runId: string }[] = [];
  for (const event of events) {
    const start = event.activityTaskScheduledEventAttributes;
    if (start) scheduled.set(String(event.eventId), scheduledActivity(event, start));
    const done = event.activityTaskCompletedEventAttributes;
    const end =
      done ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCanceledEventAttributes;
    const ended = end && scheduled.get(String(end.scheduledEventId));
    if (ended) {
      ended.open = false;
      if (done) ended.result = decode(done.result);
    }
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (signal?.signalName === MESSAGES.editSignal) history.edits.push(decode(signal.input));
    const child = event.childWorkflowExecutionStartedEventAttributes;
    if (child && child.workflowType?.name !== WORKFLOWS.labelChunks)
      next.push({
        workflowId: child.workflowExecution?.workflowId ?? '',
        runId: child.workflowExecution?.runId ?? '',
      });
    const continued = event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    if (continued) next.push({ workflowId, runId: continued });
  }
  history.activities.push(...scheduled.values());
  return next;
}

function scheduledActivity(event: HistoryEvent, start: Scheduled): ScheduledActivity {
  return {
    activity: start.activityType?.name ?? '',
    taskQueue: start.taskQueue?.name ?? '',
    input: decode(start.input),
    scheduledAtMs: toMilliseconds(event.eventTime) ?? 0,
    open: true,
  };
}

/** The first of several payloads, because activities and signals have one argument. */
function decode(payloads: Payloads): unknown {
  const first = payloads?.payloads?.[0];
  return first ? fromPayload(first) : undefined;
}
