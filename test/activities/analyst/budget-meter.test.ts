// tier: integration
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { BudgetMeter, readAnalystUse } from '../../../activities/analyst/budget-meter';
import { type AgentSpecInput, agentSpecSchema } from '../../../contracts/config/agent-spec';
import { createAnalyst, type Analyst } from '../../../llm';
import { layout, LocalStore } from '../../../store';
import { startFakeAnalyst, type FakeAnalyst } from '../../fakes/analyst-endpoint';

const folder = mkdtempSync(join(tmpdir(), 'whet-meter-'));
const store = new LocalStore(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let stub: FakeAnalyst;
let answer = '{"ok":true}';
beforeAll(
  async () =>
    void (stub = await startFakeAnalyst(() => ({
      content: answer,
      usage: { prompt: 1000, completion: 100, cached: 500 },
    }))),
);
afterAll(() => stub.close());
beforeEach(() => void (answer = '{"ok":true}'));

const schema = z.strictObject({ ok: z.boolean() });
const prices = { pricePerMillionInput: 10, pricePerMillionCachedInput: 2, pricePerMillionOutput: 40 };
/** 500 x 10 + 500 x 2 + 100 x 40 millionths. */
const COST = 0.01;

const SPEC = {
  version: 1,
  name: 'desk',
  environment: { path: 'x.py', trainSeeds: { start: 0, count: 1 }, heldOutSeeds: { start: 10, count: 1 } },
  model: { name: 'base' },
};

function metered(runId: string, budget: AgentSpecInput['budget'], concurrency = 4): Analyst {
  const spec = agentSpecSchema.parse({ ...SPEC, analyst: { ...prices }, budget });
  return new BudgetMeter(store, runId, spec).metered(
    createAnalyst({ baseUrl: stub.url, apiKey: 'x', model: 'm', concurrency, maxReasks: 1, timeoutMs: 60_000 }),
  );
}

const ask = (analyst: Analyst, key = 'k') =>
  analyst.ask({ kind: 'label', key, messages: [{ role: 'user', content: 'ok?' }], schema });

test('the calls of all workers of a run add up in one document', async () => {
  const [a, b] = [metered('r1', {}), metered('r1', {})];
  await Promise.all(Array.from({ length: 30 }, (_, i) => ask(i % 2 === 0 ? a : b)));
  await Promise.all([a.flushUsage(), b.flushUsage()]);
  expect(await readAnalystUse(store, 'r1')).toEqual({
    label: {
      calls: 30,
      asks: 30,
      tries: 30,
      promptTokens: 30_000,
      cachedTokens: 15_000,
      completionTokens: 3_000,
      unanswered: 0,
      shortened: 0,
      redacted: {},
    },
  });
});

test('calls that begin together look at the documents once', async () => {
  const reads = jest.spyOn(store, 'readDocument');
  try {
    const analyst = metered('r1-together', { usd: 100 });
    await Promise.all(Array.from({ length: 30 }, () => ask(analyst)));
    expect(reads.mock.calls.filter(([key]) => key === layout.budget('r1-together'))).toHaveLength(1);
  } finally {
    reads.mockRestore();
  }
});

test('an answer that never came right is counted with all that it cost', async () => {
  const analyst = metered('r2', {});
  answer = 'no';
  await expect(ask(analyst)).rejects.toMatchObject({ type: 'Analyst.Malformed' });
  await analyst.flushUsage();
  expect(await readAnalystUse(store, 'r2')).toMatchObject({
    label: { calls: 1, asks: 2, unanswered: 1, promptTokens: 2_000 },
  });
});

test('the call that would pass the budget is not made, and after it was raised the run goes on', async () => {
  const analyst = metered('r3', { usd: 5.5 * COST });
  const before = stub.requests.length;
  for (let i = 0; i < 5; i++) await ask(analyst);
  await expect(ask(analyst)).rejects.toMatchObject({
    type: 'Budget.Spent',
    nonRetryable: true,
    message: expect.stringContaining('whet budget r3 --usd N'),
  });
  expect(stub.requests.length - before).toBe(5);
  await store.swapDocument(layout.budget('r3'), { usd: 8.5 * COST }, null);
  for (let i = 0; i < 3; i++) await ask(analyst);
  await expect(ask(analyst)).rejects.toMatchObject({ type: 'Budget.Spent' });
});

test('calls that run at once keep the budget too', async () => {
  const analyst = metered('r4', { tokens: 20 * 1100 });
  await ask(analyst);
  const outcomes = await Promise.allSettled(Array.from({ length: 60 }, (_, i) => ask(analyst, `k${i}`)));
  await analyst.flushUsage();
  const { label } = await readAnalystUse(store, 'r4');
  expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
  expect((label?.promptTokens ?? 0) + (label?.completionTokens ?? 0)).toBeLessThanOrEqual(20 * 1100);
});

test('a call whose answer is being kept counts once: as spent, no longer as under way', async () => {
  const analyst = metered('r6', { tokens: 2 * 1100 });
  let second: Promise<unknown> | null = null;
  const keep = async () => void (await (second = ask(analyst, 'k2')));
  await analyst.ask({ kind: 'label', key: 'k1', messages: [{ role: 'user', content: 'ok?' }], schema, keep });
  await expect(second).resolves.toMatchObject({ value: { ok: true } });
  await expect(ask(analyst, 'k3')).rejects.toMatchObject({ type: 'Budget.Spent' });
});

test('a request that was lost is counted with its tokens, even when the question is never answered', async () => {
  const lose = 3;
  const losing: Analyst = {
    ...{ model: 'm', askBatch: () => Promise.reject(new Error('no batch')), flushUsage: () => Promise.resolve() },
    ask: (request) => {
      for (let i = 0; i < lose; i++) request.onLost?.({ promptTokens: 400 });
      return Promise.reject(new Error('nothing came'));
    },
  };
  const meter = (runId: string, tokens: number) =>
    new BudgetMeter(store, runId, agentSpecSchema.parse({ ...SPEC, budget: { tokens } })).metered(losing);
  const analyst = meter('r7', 1_300);
  await expect(ask(analyst)).rejects.toThrow('nothing came');
  await analyst.flushUsage();
  const { label } = await readAnalystUse(store, 'r7');
  expect(label).toMatchObject({ calls: 0, tries: 0, promptTokens: 0, lost: 3, lostPromptTokens: 1_200 });
  await expect(ask(analyst)).rejects.toThrow('nothing came');
  await expect(ask(analyst)).rejects.toMatchObject({ type: 'Budget.Spent' });
});

test('another worker sees what was spent before it began', async () => {
  const first = metered('r5', { usd: 3.5 * COST });
  for (let i = 0; i < 3; i++) await ask(first);
  await first.flushUsage();
  await expect(ask(metered('r5', { usd: 3.5 * COST }))).rejects.toMatchObject({ type: 'Budget.Spent' });
});
