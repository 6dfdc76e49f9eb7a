import type { Client } from '@temporalio/client';
import { TASK_QUEUES } from '../contracts/names';

/** Longest time in milliseconds between two polls of a live worker: Temporal's long poll. */
export const LONG_POLL_MS = 60_000;

/** temporal.api.enums.v1.TaskQueueType */
const WORKFLOW_QUEUE = 1;
const ACTIVITY_QUEUE = 2;

/**
 * Time of a worker's last poll of this task queue, in milliseconds since 1970. Null if the server remembers none; it
 * forgets polls after some minutes.
 */
export async function lastPollAt(client: Client, queue: string): Promise<number | null> {
  const type = queue === TASK_QUEUES.orchestration ? WORKFLOW_QUEUE : ACTIVITY_QUEUE;
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: queue },
    taskQueueType: type,
  });
  const times = (pollers ?? []).flatMap(({ lastAccessTime }) => toMilliseconds(lastAccessTime) ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

/** A time stamp of the server's protocol. */
export type Timestamp = { seconds?: unknown; nanos?: number | null } | null | undefined;

/** Milliseconds since 1970; null if the server omits the time. */
export const toMilliseconds = (time: Timestamp): number | null =>
  time === null || time === undefined ? null : Number(time.seconds ?? 0) * 1000 + Number(time.nanos ?? 0) / 1e6;
