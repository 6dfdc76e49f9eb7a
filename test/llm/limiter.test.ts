// tier: unit
import { CancelledFailure } from '@temporalio/common';
import { ConcurrencyLimiter, sleep } from '../../llm/limiter';

test('a place of the limiter is given back when an action throws', async () => {
  const limiter = new ConcurrencyLimiter(1);
  await expect(limiter.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(limiter.run(async () => 'yes')).resolves.toBe('yes');
});

test('waiting actions run in the order in which they came', async () => {
  const limiter = new ConcurrencyLimiter(2);
  const order: number[] = [];
  await Promise.all([0, 1, 2, 3, 4].map((i) => limiter.run(async () => void order.push(i))));
  expect(order).toEqual([0, 1, 2, 3, 4]);
});

test('of those that wait, the lowest priority number goes first, however late it came', async () => {
  const limiter = new ConcurrencyLimiter(1);
  const order: string[] = [];
  const run = (name: string, priority: number) => limiter.run(async () => void order.push(name), priority);
  await Promise.all([run('first', 9), run('c1', 3), run('c2', 3), run('a', 1), run('b', 2), run('c3', 3)]);
  expect(order).toEqual(['first', 'a', 'b', 'c1', 'c2', 'c3']);
});

test('sleeping ends with the cancellation', async () => {
  const controller = new AbortController();
  const slept = sleep(60_000, controller.signal);
  controller.abort(new CancelledFailure('stop'));
  await expect(slept).rejects.toThrow('stop');
});
