// tier: integration
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { labelAnswerSchema, labelMessages } from '../../../activities/label-prompt/label-messages';
import type { Candidate } from '../../../contracts/artifacts/identification';
import type { ChatMessage } from '../../../contracts/artifacts/trajectory';
import { DEMO_ANALYST_MODEL, DEMO_ANALYST_NAME, openDeskRules } from '../../../examples/orders-desk/analyst/answers';
import { Journal } from '../../../examples/shared/analyst/journal';
import { createAnalystServer } from '../../../examples/shared/analyst/server';
import { createAnalyst, strictJsonSchema } from '../../../llm';
import { ANALYST_ASSETS } from './desk';

const greeting: Candidate = { id: 'g', name: 'Greet the customer', summary: 's', description: 'd' };
const said = (text: string): ChatMessage[] => [
  { role: 'user', content: 'where is order 41' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'reply', arguments: JSON.stringify({ text }) } }],
  },
];
const bodyFor = (text: string, extra: object = {}) => ({
  model: DEMO_ANALYST_MODEL,
  messages: labelMessages(said(text), greeting),
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'label', strict: true, schema: strictJsonSchema(labelAnswerSchema) },
  },
  ...extra,
});

let folder: string;
let journal: Journal;
let app: FastifyInstance;
let address: string;

async function start(): Promise<void> {
  journal = new Journal(join(folder, 'journal.jsonl'));
  app = createAnalystServer({ rules: openDeskRules(ANALYST_ASSETS), journal });
  address = await app.listen({ port: 0, host: '127.0.0.1' });
}

async function stop(): Promise<void> {
  await app.close();
  await journal.close();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'whet-analyst-'));
  await start();
});

afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

async function call(path: string, init?: RequestInit) {
  const response = await fetch(`${address}${path}`, init);
  return { status: response.status, json: JSON.parse(await response.text()) };
}
const post = (payload: object, key?: string) =>
  call('/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify(payload),
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
  });
const stats = async () => (await call('/stats')).json;

test('the model list says what it is', async () => {
  expect((await call('/v1/models')).json.data).toEqual([
    { id: DEMO_ANALYST_MODEL, object: 'model', created: 0, owned_by: DEMO_ANALYST_NAME },
  ]);
  expect(DEMO_ANALYST_NAME).toBe('demo analyst (rule-based)');
  expect((await call('/healthz')).status).toBe(200);
});

test('a completion has the form that response_format asks for, in its order, and usage', async () => {
  const answer = (await post(bodyFor('hello'))).json;
  expect(Object.keys(JSON.parse(answer.choices[0].message.content))).toEqual(['reason', 'step', 'label']);
  expect(answer).toMatchObject({
    object: 'chat.completion',
    model: DEMO_ANALYST_MODEL,
    choices: [{ finish_reason: 'stop' }],
  });
  expect(answer.usage.total_tokens).toBe(answer.usage.prompt_tokens + answer.usage.completion_tokens);
  expect(answer.usage.prompt_tokens).toBeGreaterThan(100);
});

describe('an idempotency key', () => {
  test('that comes again gets the stored answer and is not billed', async () => {
    const first = (await post(bodyFor('hello'), 'k1')).json;
    const second = (await post(bodyFor('hello'), 'k1')).json;
    expect(second).toEqual(first);
    expect(await stats()).toEqual({
      requests: { discover: 0, merge: 0, label: 2, synthesise: 0, read: 0 },
      billed: { discover: 0, merge: 0, label: 1, synthesise: 0, read: 0 },
      billedCalls: 1,
      replayed: 1,
      duplicateKeys: 1,
      billedTwice: 0,
    });
  });

  test('that comes again while the first is under way is not billed either', async () => {
    await Promise.all(Array.from({ length: 5 }, () => post(bodyFor('hello'), 'k1')));
    expect(await stats()).toMatchObject({ billedCalls: 1, replayed: 4 });
  });

  test('is remembered over a restart, and so are the counters', async () => {
    const first = (await post(bodyFor('hello'), 'k1')).json;
    await post(bodyFor('hello'), 'k1');
    const before = await stats();
    await stop();
    await start();
    expect(await stats()).toEqual(before);
    expect((await post(bodyFor('hello'), 'k1')).json).toEqual(first);
    expect(await stats()).toMatchObject({ billedCalls: 1, replayed: 2 });
  });

  test('survives a line that was torn when the process was killed', async () => {
    await post(bodyFor('hello'), 'k1');
    await stop();
    appendFileSync(join(folder, 'journal.jsonl'), '{"key":"k2","kind":"la');
    await start();
    await post(bodyFor('other'), 'k3');
    await stop();
    await start();
    await post(bodyFor('hello'), 'k1');
    await post(bodyFor('other'), 'k3');
    expect(await stats()).toMatchObject({ billedCalls: 2, replayed: 2 });
  });

  test('with another question is refused', async () => {
    await post(bodyFor('hello'), 'k1');
    const answer = await post(bodyFor('goodbye'), 'k1');
    expect(answer.status).toBe(422);
    expect(answer.json.error.code).toBe('idempotency_key_reused');
  });
});

test('the same question without or under another key is billed, and counted as billed twice', async () => {
  await post(bodyFor('hello'), 'k1');
  await post(bodyFor('hello'), 'k2');
  await post(bodyFor('hello'));
  expect(await stats()).toMatchObject({ billedCalls: 3, billedTwice: 2, replayed: 0 });
});

test.each([
  ['an unknown model', { model: 'gpt-99' }, 404, 'model_not_found'],
  ['no response_format', { response_format: undefined }, 400, 'invalid_request'],
  ['streaming', { stream: true }, 400, 'unsupported_value'],
  ['an unknown question', { messages: [{ role: 'user', content: 'hi' }] }, 400, 'unknown_question'],
])('%s is refused in the format of the API', async (_, extra, status, code) => {
  const answer = await post(bodyFor('hello', extra));
  expect(answer.status).toBe(status);
  expect(answer.json.error).toMatchObject({ code, message: expect.any(String) });
  expect(await stats()).toMatchObject({ billedCalls: 0 });
});

test('a form that it cannot fill is refused', async () => {
  const schema = {
    type: 'object',
    properties: { mood: { type: 'string' } },
    required: ['mood'],
    additionalProperties: false,
  };
  const answer = await post(
    bodyFor('hello', { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } }),
  );
  expect(answer.status).toBe(400);
  expect(answer.json.error.message).toContain('mood');
});

test('our client understands it', async () => {
  const analyst = createAnalyst({
    baseUrl: `${address}/v1`,
    apiKey: 'any',
    model: DEMO_ANALYST_MODEL,
    concurrency: 2,
    maxReasks: 0,
    timeoutMs: 60_000,
  });
  const answer = await analyst.ask({
    kind: 'label',
    key: 'k',
    messages: labelMessages(said('hello there'), greeting),
    schema: labelAnswerSchema,
  });
  expect(answer).toMatchObject({ value: { label: 'PRESENT', step: 1 }, asks: 1, model: DEMO_ANALYST_MODEL });
});
