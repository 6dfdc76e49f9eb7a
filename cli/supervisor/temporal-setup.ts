import { Client, Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES, TASK_QUEUES } from '../../contracts/names';
import { lastPollAt } from '../pollers';
import type { Plan } from './plan';

/** temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD */
const KEYWORD = 2;

/** Registers the search attributes of runs that the namespace lacks. Safe to repeat. @throws the server's error. */
export async function ensureSearchAttributes({ address, namespace }: Plan['temporal']): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: '5s' });
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = Object.values(SEARCH_ATTRIBUTES).filter((name) => !Object.hasOwn(customAttributes ?? {}, name));
    if (missing.length === 0) return;
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  } finally {
    await connection.close();
  }
}

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
