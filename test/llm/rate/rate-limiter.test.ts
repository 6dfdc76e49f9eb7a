// tier: integration
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CancelledFailure } from '@temporalio/common';
import { storedRateState } from '../../../activities/analyst/analyst-factory';
import { inProcessRateState, newRateState, type ChangeRateState, type RateState } from '../../../llm/rate/rate-state';
import { RateLimiter } from '../../../llm/rate/rate-limiter';
import { LocalStore } from '../../../store';

const folder = mkdtempSync(join(tmpdir(), 'whet-rate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What is stored now; a new state where nothing is. */
const stateOf = (changeRateState: ChangeRateState) =>
  changeRateState((before) => {
    const state = (before as RateState | undefined) ?? newRateState(0);
    return { value: state, result: state };
  });

test('as long as no limit is known the limiter is open', async () => {
  const limiter = new RateLimiter();
  await Promise.all(Array.from({ length: 1000 }, () => limiter.acquire(10, 0)));
});

test('two workers on one store keep one limit together, and the lower priority goes first', async () => {
  const shared = () => storedRateState(new LocalStore(folder), 'endpoint');
  const [a, b] = [
    new RateLimiter({ requestsPerMinute: 1200, changeRateState: shared() }),
    new RateLimiter({ requestsPerMinute: 1200, changeRateState: shared() }),
  ];
  const order: number[] = [];
  const began = Date.now();
  const send = (limiter: RateLimiter, priority: number) =>
    limiter.acquire(1, priority).then(() => void order.push(priority));
  await Promise.all(Array.from({ length: 40 }, (_, i) => [send(a, 40 - i), send(b, 40 - i)]).flat());
  // 80 requests at 20 a second, with a burst of 10 from the full bucket.
  expect(Date.now() - began).toBeGreaterThan(3_000);
  const [early, late] = [order.slice(0, 20), order.slice(-20)];
  expect(Math.max(...early)).toBeLessThan(Math.min(...late));
});

test('a Retry-After that one worker hears holds the others', async () => {
  const changeRateState = inProcessRateState();
  const [a, b] = [
    new RateLimiter({ changeRateState }),
    new RateLimiter({ changeRateState, requestsPerMinute: 60_000 }),
  ];
  await a.acquire(1, 0);
  a.pushedBack(1_500);
  const held = async (): Promise<number> => (await stateOf(changeRateState)).pausedUntil;
  while ((await held()) === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const until = await held();
  await b.acquire(1, 0);
  expect(Date.now()).toBeGreaterThanOrEqual(until - 5);
});

test('headers name the limits where agent.yaml does not', async () => {
  const changeRateState = inProcessRateState();
  const limiter = new RateLimiter({ changeRateState });
  limiter.accepted(new Headers({ 'x-ratelimit-limit-requests': '600', 'x-ratelimit-limit-tokens': '60000' }));
  limiter.pushedBack(null);
  for (;;) {
    const state = await stateOf(changeRateState);
    if (state.requestCeiling !== null) {
      expect(state).toMatchObject({ requestCeiling: 10, tokenCeiling: 1000 });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test('a cancelled call leaves the line', async () => {
  const limiter = new RateLimiter({ requestsPerMinute: 1 });
  const controller = new AbortController();
  const waiting = limiter.acquire(1, 0).then(() => limiter.acquire(1, 0, controller.signal));
  setTimeout(() => controller.abort(new CancelledFailure('stop')), 300);
  await expect(waiting).rejects.toThrow('stop');
});

test('without a shared state that can be read or written the calls go on, and it is said once', async () => {
  const blocked = mkdtempSync(join(folder, 'blocked-'));
  // A file where the folder of the documents would be.
  writeFileSync(join(blocked, 'rates'), '');
  const said: string[] = [];
  const limiter = new RateLimiter({
    requestsPerMinute: 6_000,
    changeRateState: storedRateState(new LocalStore(blocked), 'endpoint'),
    onRateTrouble: (sentence) => said.push(sentence),
  });
  await Promise.all(Array.from({ length: 60 }, () => limiter.acquire(1, 0)));
  expect(said).toEqual([expect.stringContaining('this worker keeps a pace of its own until it can')]);
  rmSync(join(blocked, 'rates'));
  while (said.length < 2) {
    await limiter.acquire(1, 0);
    limiter.accepted();
  }
  expect(said[1]).toBe('The shared pace of the analyst endpoint is kept again.');
});
