// unit
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '@temporalio/activity';
import { HEARTBEAT_MS } from '../../contracts/limits';
import { heartbeatInterceptor } from '../../workers/heartbeat-interceptor';
import { activityOptions } from '../../workflows/shared/activities';

const input = { args: [], headers: {} };
const contextOf = (heartbeatTimeoutMs: number | undefined) => {
  const beats: unknown[] = [];
  const context = {
    info: { heartbeatTimeoutMs },
    heartbeat: (details?: unknown) => void beats.push(details),
  } as unknown as Context;
  return { context, beats };
};

test('every task queue notices a killed worker by its silence', () => {
  const timeouts = Object.entries(activityOptions).map(([queue, { heartbeatTimeout }]) => [queue, heartbeatTimeout]);
  expect(timeouts).toEqual(Object.entries(HEARTBEAT_MS.timeout));
});

test('an activity without progress beats until it ends', async () => {
  const { context, beats } = contextOf(HEARTBEAT_MS.timeout.orchestration);
  const { inbound } = heartbeatInterceptor(context, 1);
  const untilItBeats = async () => {
    while (beats.length < 3) await sleep(1);
    return 'the report';
  };
  await expect(inbound.execute?.(input, untilItBeats)).resolves.toBe('the report');
  const error = new Error('ENOSPC');
  await expect(inbound.execute?.(input, () => Promise.reject(error))).rejects.toBe(error);
  const { length } = beats;
  await sleep(30);
  expect(beats).toHaveLength(length);
});

test.each([HEARTBEAT_MS.timeout.sandbox, undefined])('one with a timeout of %s ms sends its own', async (timeout) => {
  const { context, beats } = contextOf(timeout);
  const { inbound } = heartbeatInterceptor(context, 1);
  await inbound.execute?.(input, () => sleep(20));
  expect(beats).toEqual([]);
});
