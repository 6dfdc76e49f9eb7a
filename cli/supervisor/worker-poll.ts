import { Client, Connection } from '@temporalio/client';
import { TASK_QUEUES } from '../../contracts/names';
import { lastPollAt } from '../pollers';
import type { Plan } from './plan';

/**
 * Whether a worker has asked for workflow tasks since a time (milliseconds since 1970); null when the server does not
 * answer.
 */
export async function hasPollerSince({ address, namespace }: Plan['temporal'], since: number): Promise<boolean | null> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: '2s' });
    try {
      const last = await lastPollAt(new Client({ connection, namespace }), TASK_QUEUES.orchestration);
      return last !== null && last >= since;
    } finally {
      await connection.close();
    }
  } catch {
    return null;
  }
}
