// tier: unit, with a fake of the Temporal client.
import type { Client } from '@temporalio/client';
import { openRunsBefore } from '../../../activities/schedule-turn/open-runs';
import type { RepeatedFailure } from '../../../contracts/messages/run';

const [BACKS_OFF, STARTED] = [1, 2];
const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 2, 2, 2);
const at = (ms: number) => ({ seconds: ms / 1_000, nanos: 0 });
const failing: RepeatedFailure = {
  ...{ key: 'b: trainAdapter', attempts: 8, reason: 'Job.Evicted: moved', gotOn: false },
  ...{ sinceMs: NOW - 40 * HOUR, stillSinceMs: NOW - 30 * HOUR },
};

/** The run before, as the server describes it with these pending activities, and what it says of its failures. */
async function runWith(pendingActivities: object[], says: RepeatedFailure[] = [failing]) {
  const describe = (workflowId: string) => ({
    status: { name: 'RUNNING' },
    startTime: new Date(workflowId === 'run-now' ? NOW : NOW - 41 * HOUR),
    searchAttributes: { WhetStage: ['sharpen'] },
    raw: { pendingActivities },
  });
  const client = {
    withDeadline: (_: number, ask: () => unknown) => ask(),
    schedule: { getHandle: () => ({ describe: async () => ({ info: { recentActions: [] } }) }) },
    workflow: {
      getHandle: (id: string) => ({ describe: async () => describe(id), query: async () => ({ failing: says }) }),
      list: async function* () {
        yield { workflowId: 'run-before' };
      },
    },
  } as unknown as Client;
  const [run] = await openRunsBefore(client, 'run-now', 'desk');
  return run!;
}

test('a ninth attempt that has begun and beats is at work, whatever failed before it', async () => {
  const beating = { attempt: 9, state: STARTED, lastStartedTime: at(NOW - 20 * HOUR), lastHeartbeatTime: at(NOW) };
  expect(await runWith([beating])).toMatchObject({ state: 'works', standstill: null });
  // Beside something that waits for its next attempt too.
  expect((await runWith([{ attempt: 12, state: BACKS_OFF }, beating])).standstill).toBeNull();
});

test('between two attempts it stands still since its failures were reported, not since it was scheduled', async () => {
  const { standstill } = await runWith([{ attempt: 9, state: BACKS_OFF, lastHeartbeatTime: at(NOW) }]);
  expect(standstill).toEqual({ sinceMs: NOW - 30 * HOUR, reason: 'b: trainAdapter: Job.Evicted: moved' });
});

test('it worked until the last word of an attempt that was lost with its worker', async () => {
  const lost = { lastFailure: { timeoutFailureInfo: {} }, lastHeartbeatTime: at(NOW - HOUR) };
  const { standstill } = await runWith([{ attempt: 10, state: BACKS_OFF, ...lost }]);
  expect(standstill!.sinceMs).toBe(NOW - HOUR);
});

test('of several, what got on last counts', async () => {
  const later = { ...failing, key: 'c: trainAdapter', stillSinceMs: NOW - 2 * HOUR };
  const pending = [9, 9].map((attempt) => ({ attempt, state: BACKS_OFF }));
  expect((await runWith(pending, [later, failing])).standstill!.sinceMs).toBe(NOW - 2 * HOUR);
});

test('before eight failures, and where the run says nothing, it is at work', async () => {
  expect((await runWith([{ attempt: 8, state: BACKS_OFF }])).standstill).toBeNull();
  expect((await runWith([{ attempt: 9, state: BACKS_OFF }], [])).standstill).toBeNull();
});
