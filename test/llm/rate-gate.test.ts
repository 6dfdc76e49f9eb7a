// tier: integration
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CancelledFailure } from '@temporalio/common';
import { storeRateBoard } from '../../activities/analyst-door';
import { newRateState, privateBoard, RateGate, type RateState } from '../../llm';
import { LocalStore } from '../../store';

const folder = mkdtempSync(join(tmpdir(), 'whet-rate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('as long as no limit is known the gate is open', async () => {
  const gate = new RateGate();
  await Promise.all(Array.from({ length: 1000 }, () => gate.enter(10, 0)));
});

test('two workers on one store keep one limit together, and the lower turn goes first', async () => {
  const board = () => storeRateBoard(new LocalStore(folder), 'endpoint');
  const [a, b] = [
    new RateGate({ requestsPerMinute: 1200, board: board() }),
    new RateGate({ requestsPerMinute: 1200, board: board() }),
  ];
  const order: number[] = [];
  const began = Date.now();
  const send = (gate: RateGate, turn: number) => gate.enter(1, turn).then(() => void order.push(turn));
  await Promise.all(Array.from({ length: 40 }, (_, i) => [send(a, 40 - i), send(b, 40 - i)]).flat());
  // 80 requests at 20 a second, with a burst of 10 from the full bucket.
  expect(Date.now() - began).toBeGreaterThan(3_000);
  const [early, late] = [order.slice(0, 20), order.slice(-20)];
  expect(Math.max(...early)).toBeLessThan(Math.min(...late));
});

test('a Retry-After that one worker hears holds the others', async () => {
  const board = privateBoard();
  const [a, b] = [new RateGate({ board }), new RateGate({ board, requestsPerMinute: 60_000 })];
  await a.enter(1, 0);
  a.pushedBack(1_500);
  const held = async (): Promise<number> =>
    ((await board.read())?.value as RateState | undefined)?.pausedUntil ?? newRateState(0).pausedUntil;
  while ((await held()) === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const until = await held();
  await b.enter(1, 0);
  expect(Date.now()).toBeGreaterThanOrEqual(until - 5);
});

test('headers name the limits where agent.yaml does not', async () => {
  const board = privateBoard();
  const gate = new RateGate({ board });
  gate.accepted(new Headers({ 'x-ratelimit-limit-requests': '600', 'x-ratelimit-limit-tokens': '60000' }));
  gate.pushedBack(null);
  for (;;) {
    const state = (await board.read())?.value as RateState | undefined;
    if (state) {
      expect(state).toMatchObject({ requestCeiling: 10, tokenCeiling: 1000 });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test('a cancelled call leaves the line', async () => {
  const gate = new RateGate({ requestsPerMinute: 1 });
  const controller = new AbortController();
  const waiting = gate.enter(1, 0).then(() => gate.enter(1, 0, controller.signal));
  setTimeout(() => controller.abort(new CancelledFailure('stop')), 300);
  await expect(waiting).rejects.toThrow('stop');
});
