// tier: integration
import { randomUUID } from 'node:crypto';
import { type ApplicationFailure, DefaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { reportedFailure } from '../../cli/view/run-state';
import { sameFailureText } from '../../contracts/same-failure';
import { failure } from '../../contracts/typed-failure';
import { StoreCorruptError } from '../../store';
import { toTypedFailure, failureInterceptor } from '../../workers/failure-interceptor';
import { startTemporal } from '../helpers/temporal';

test('an artifact that does not match its hash is a failure that is not repeated', () => {
  expect(toTypedFailure(new StoreCorruptError('labels-1.jsonl was changed'))).toMatchObject({
    type: 'Store.Corrupt',
    nonRetryable: true,
    message: 'labels-1.jsonl was changed',
  });
});

test.each([
  ['ENOSPC', 'Store.Full', 'The disk of the store is full: /s/x.json could not be written (ENOSPC). Free space'],
  ['EDQUOT', 'Store.Full', 'is full'],
  ['EIO', 'Store.Unavailable', 'does not work'],
])('%s of the operating system is %s, which is repeated', (code, type, message) => {
  const error = Object.assign(new Error(code), { code, path: '/s/x.json' });
  expect(toTypedFailure(error)).toMatchObject({
    type,
    nonRetryable: false,
    message: expect.stringContaining(message) as string,
  });
});

test('a stored document of another form names the field', () => {
  const { error } = z.object({ reward: z.number() }).safeParse({ reward: 'much' });
  expect(toTypedFailure(error)).toMatchObject({ type: 'Store.Corrupt', message: expect.stringContaining('reward') });
});

test('half a character in the words of a failure or its cause cannot be sent, and is replaced', async () => {
  const error = new Error('a \ud83d', { cause: failure('Model.Refused', 'b \ude00') });
  const { inbound } = failureInterceptor();
  await expect(inbound.execute?.({ args: [], headers: {} }, () => Promise.reject(error))).rejects.toBe(error);
  expect([error.message, (error.cause as Error).message]).toEqual(['a \ufffd', 'b \ufffd']);
  expect(`${error.stack} ${(error.cause as Error).stack}`).not.toMatch(/\p{Surrogate}/u);
});

test('a failure that is tried again keeps its type at the server, however much it says', async () => {
  const server = await startTemporal();
  try {
    const cause = new Error('y'.repeat(900), { cause: new Error('z'.repeat(900)) });
    for (const [message, delay, detail, keepsDetail] of [
      ['x'.repeat(900), '60 seconds', {}, true],
      ['x'.repeat(900), undefined, { code: 'y'.repeat(5_000) }, false],
      ['語'.repeat(5_000), undefined, { code: 'y'.repeat(280) }, true],
      ['語'.repeat(5_000), '60 seconds', { code: 'y'.repeat(290) }, false],
    ] as const) {
      const options = { cause, details: [detail], ...(delay !== undefined && { nextRetryDelay: delay }) };
      const big = failure('Store.Full', message, options);
      const thrown = (await failureInterceptor()
        .inbound.execute?.({ args: [], headers: {} }, () => Promise.reject(big))
        .catch((error: unknown) => error)) as ApplicationFailure;
      expect(thrown).toMatchObject({ type: 'Store.Full', nonRetryable: false, nextRetryDelay: delay });
      expect(thrown.details ?? []).toEqual(keepsDetail ? [detail] : []);
      // As workers/repeated-failures.ts does.
      thrown.message += ` ${sameFailureText(1_000_000)}`;
      expect(await keptFailure(server, thrown)).toMatchObject({
        type: 'Store.Full',
        message: expect.stringMatching(/^(?:x{900}|語{1200}) The same failure came 1000000 times/) as string,
      });
    }
  } finally {
    await server.teardown();
  }
});

/** temporal.api.enums.v1.CommandType */
const SCHEDULE_ACTIVITY = 1;

/** What a server keeps of the failure of an activity that it will try again. */
function keptFailure({ client }: TestWorkflowEnvironment, error: unknown) {
  const { workflowService: service } = client;
  const common = { namespace: 'default', identity: 'test' };
  return client.connection.withDeadline(Date.now() + 30_000, async () => {
    const taskQueue = randomUUID();
    const handle = await client.workflow.start('any', { taskQueue, workflowId: taskQueue });
    const step = await service.pollWorkflowTaskQueue({ ...common, taskQueue: { name: taskQueue } });
    const attributes = {
      activityId: '1',
      activityType: { name: 'any' },
      taskQueue: { name: taskQueue },
      startToCloseTimeout: msToTs('1 minute'),
    };
    const commands = [{ commandType: SCHEDULE_ACTIVITY, scheduleActivityTaskCommandAttributes: attributes }];
    await service.respondWorkflowTaskCompleted({ ...common, taskToken: step.taskToken, commands });
    const { taskToken } = await service.pollActivityTaskQueue({ ...common, taskQueue: { name: taskQueue } });
    const failed = new DefaultFailureConverter().errorToFailure(error, defaultPayloadConverter);
    await service.respondActivityTaskFailed({ ...common, taskToken, failure: failed });
    return reportedFailure((await handle.describe()).raw.pendingActivities?.[0]?.lastFailure);
  });
}

test('any other error passes as it is, and a result too', async () => {
  const error = new Error('ECONNRESET');
  const { inbound } = failureInterceptor();
  const input = { args: [], headers: {} };
  await expect(inbound.execute?.(input, () => Promise.reject(error))).rejects.toBe(error);
  await expect(inbound.execute?.(input, () => Promise.resolve(3))).resolves.toBe(3);
});
