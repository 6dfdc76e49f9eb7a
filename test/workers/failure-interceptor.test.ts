// unit
import { z } from 'zod';
import { failure } from '../../contracts/typed-failure';
import { StoreCorruptError } from '../../store';
import { toTypedFailure, failureInterceptor } from '../../workers/failure-interceptor';

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

test('any other error passes as it is, and a result too', async () => {
  const error = new Error('ECONNRESET');
  const { inbound } = failureInterceptor();
  const input = { args: [], headers: {} };
  await expect(inbound.execute?.(input, () => Promise.reject(error))).rejects.toBe(error);
  await expect(inbound.execute?.(input, () => Promise.resolve(3))).resolves.toBe(3);
});
