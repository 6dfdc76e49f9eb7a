import type { Client } from '@temporalio/client';
import { WORKER_HEARTBEAT_MS } from '../../contracts/limits';
import { TASK_QUEUES } from '../../contracts/names';
import { toMilliseconds } from '../pollers';

/** After this time without a heartbeat, a worker counts as stopped: several heartbeats are missing. */
const SILENT_MS = 4 * WORKER_HEARTBEAT_MS;

/** temporal.api.enums.v1.WorkerStatus */
const SHUTTING_DOWN = 2;
const SHUTDOWN = 3;

/** A worker of one task queue, according to its last heartbeat to the server. */
export interface QueueWorker {
  /** Process and machine, such as `28455@host`. */
  identity: string;
  taskQueue: string;
  /** Milliseconds since 1970. */
  heartbeatAt: number;
  /** No heartbeat for twenty seconds: the process is stopped, or the process or its machine is gone. */
  silent: boolean;
  shuttingDown: boolean;
  /** Number of its current tasks, and number of its free slots. */
  used: number;
  free: number;
}

/** The workers of our task queues that have not shut down. Null if the server does not record their heartbeats. */
export async function readWorkers(client: Client, now: number): Promise<QueueWorker[] | null> {
  const { namespace } = client.options;
  const queues: readonly string[] = Object.values(TASK_QUEUES);
  let answer;
  try {
    answer = await client.workflowService.listWorkers({ namespace, pageSize: 1_000 });
  } catch {
    return null;
  }
  return (answer.workersInfo ?? []).flatMap(({ workerHeartbeat: heartbeat }) => {
    const heartbeatAt = toMilliseconds(heartbeat?.heartbeatTime);
    const status = Number(heartbeat?.status ?? 0);
    if (heartbeatAt === null || !queues.includes(heartbeat?.taskQueue ?? '') || status === SHUTDOWN) return [];
    const slots = heartbeat?.activityTaskSlotsInfo;
    return {
      identity: heartbeat?.workerIdentity ?? '?',
      taskQueue: heartbeat?.taskQueue ?? '',
      heartbeatAt,
      silent: now - heartbeatAt > SILENT_MS,
      shuttingDown: status === SHUTTING_DOWN,
      used: slots?.currentUsedSlots ?? 0,
      free: slots?.currentAvailableSlots ?? 0,
    };
  });
}
