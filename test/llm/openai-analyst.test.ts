// tier: integration
import { CancelledFailure } from '@temporalio/common';
import { z } from 'zod';
import {
  createAnalyst,
  refusalOfOneQuestion,
  type AnalystOptions,
  type AnalystRequest,
  type MalformedDetail,
} from '../../llm';
import { startFakeAnalyst, type FakeAnalystAnswer, type FakeAnalyst } from '../fakes/analyst-endpoint';

const schema = z.strictObject({ label: z.enum(['A', 'B']), step: z.int().nonnegative().nullable() });
const GOOD: FakeAnalystAnswer = { content: '{"label":"A","step":3}', usage: { prompt: 50, completion: 7, cached: 30 } };

let stub: FakeAnalyst | undefined;
afterEach(() => stub?.close());

async function analystThatHears(
  answers: FakeAnalystAnswer[] | ((index: number) => FakeAnalystAnswer),
  options: Partial<AnalystOptions> = {},
) {
  stub = await startFakeAnalyst((_, index) =>
    typeof answers === 'function'
      ? answers(index)
      : (answers[Math.min(index, answers.length - 1)] as FakeAnalystAnswer),
  );
  const analyst = createAnalyst({
    baseUrl: stub.url,
    apiKey: 'key-1',
    model: 'm-1',
    concurrency: 4,
    maxReasks: 2,
    timeoutMs: 60_000,
    firstWaitMs: 1,
    ...options,
  });
  return { analyst, requests: stub.requests };
}

const request = (extra: Partial<AnalystRequest<z.infer<typeof schema>>> = {}) => ({
  kind: 'label' as const,
  key: 'k'.repeat(64),
  messages: [{ role: 'user' as const, content: 'which?' }],
  schema,
  ...extra,
});

test('what is sent is well formed, and so is what is asked again', async () => {
  const { analyst, requests } = await analystThatHears([{ content: 'half \ud83d' }, GOOD]);
  const messages = [{ role: 'user' as const, content: 'a\ud83d b\ude00 😀' }];
  await analyst.ask(request({ messages }));
  expect(requests.map(({ body }) => JSON.stringify(body))).not.toContainEqual(expect.stringMatching(/\\ud[89a-f]/));
  expect(JSON.stringify(requests[1]!.body)).toContain('a\ufffd b\ufffd 😀');
});

test('a valid answer comes back with its usage', async () => {
  const { analyst, requests } = await analystThatHears([GOOD]);
  await expect(analyst.ask(request())).resolves.toEqual({
    value: { label: 'A', step: 3 },
    usage: { promptTokens: 50, completionTokens: 7, cachedTokens: 30 },
    asks: 1,
    tries: 1,
    redacted: {},
    model: 'm-1',
  });
  expect(requests).toHaveLength(1);
});

test('the request carries model, strict schema, key and idempotency key', async () => {
  const { analyst, requests } = await analystThatHears([GOOD]);
  await analyst.ask(request());
  const { path, headers, body } = requests[0]!;
  expect(path).toBe('/v1/chat/completions');
  expect(headers.authorization).toBe('Bearer key-1');
  expect(headers['idempotency-key']).toBe('k'.repeat(64));
  expect(body.model).toBe('m-1');
  expect(body.response_format).toEqual({
    type: 'json_schema',
    json_schema: {
      name: 'label',
      strict: true,
      schema: {
        type: 'object',
        properties: {
          label: { type: 'string', enum: ['A', 'B'] },
          step: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
        },
        required: ['label', 'step'],
        additionalProperties: false,
      },
    },
  });
});

describe('a malformed answer', () => {
  test('is asked again with the problem, under another key, and all usage counts', async () => {
    const { analyst, requests } = await analystThatHears([{ content: '{"label":"C","step":3}' }, GOOD]);
    const answer = await analyst.ask(request());
    expect(answer.asks).toBe(2);
    expect(answer.usage).toEqual({ promptTokens: 150, completionTokens: 17, cachedTokens: 30 });
    const [first, second] = requests;
    expect(second!.body.messages).toHaveLength(3);
    expect(second!.body.messages[1]).toEqual({ role: 'assistant', content: '{"label":"C","step":3}' });
    expect(second!.body.messages[2]!.content).toContain('label');
    expect(second!.headers['idempotency-key']).not.toBe(first!.headers['idempotency-key']);
  });

  test.each([
    ['is not JSON', { content: 'I think A' }],
    ['is empty', { content: '' }],
    ['was cut off', { content: '{"label":"A","st', finish: 'length' }],
    ['is a refusal', { content: '', refusal: 'I will not.' }],
  ])('that %s is asked again', async (_, bad) => {
    const { analyst, requests } = await analystThatHears([bad, GOOD]);
    await expect(analyst.ask(request())).resolves.toMatchObject({ asks: 2 });
    expect(requests).toHaveLength(2);
  });

  test('after all re-asks is Analyst.Malformed with the last answer and what it cost', async () => {
    const { analyst, requests } = await analystThatHears([{ content: '{}' }]);
    const error = await analyst.ask(request()).catch((e: unknown) => e);
    expect(error).toMatchObject({ type: 'Analyst.Malformed', nonRetryable: true });
    expect(requests).toHaveLength(3);
    const [detail] = (error as { details: MalformedDetail[] }).details;
    expect(detail).toMatchObject({
      answer: '{}',
      asks: 3,
      usage: { promptTokens: 300, completionTokens: 30, cachedTokens: 0 },
    });
    expect(refusalOfOneQuestion(error)).toMatchObject({ asks: 3 });
  });

  test.each([
    ['alone', (json: string) => `\`\`\`json\n${json}\n\`\`\``],
    ['with words around it', (json: string) => `Here it is:\r\n\`\`\`JSON\r\n${json}\r\n\`\`\`\r\nDone.`],
    ['that is not closed', (json: string) => `\`\`\`\n${json}`],
  ])('JSON in a Markdown fence %s is taken as it is meant', async (_, fenced) => {
    const { analyst } = await analystThatHears([{ content: fenced('{\n  "label": "B",\n  "step": null\n}') }]);
    await expect(analyst.ask(request())).resolves.toMatchObject({ value: { label: 'B', step: null }, asks: 1 });
  });
});

describe('a transient failure', () => {
  test.each([429, 500, 503])('%i is tried again with the same key', async (status) => {
    const { analyst, requests } = await analystThatHears([{ status, headers: { 'retry-after-ms': '1' } }, GOOD]);
    await expect(analyst.ask(request())).resolves.toMatchObject({ asks: 1 });
    expect(requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['k'.repeat(64), 'k'.repeat(64)]);
  });

  test('that stays is thrown after the allowed tries', async () => {
    const { analyst, requests } = await analystThatHears([{ status: 503 }], { maxTries: 3 });
    await expect(analyst.ask(request())).rejects.toMatchObject({ type: 'Analyst.Unavailable', nonRetryable: false });
    expect(requests).toHaveLength(3);
  });

  test('with a long Retry-After is left to Temporal at once', async () => {
    const { analyst, requests } = await analystThatHears([{ status: 429, headers: { 'retry-after': '120' } }]);
    await expect(analyst.ask(request())).rejects.toMatchObject({
      type: 'Analyst.RateLimited',
      nextRetryDelay: 120_000,
    });
    expect(requests).toHaveLength(1);
  });

  test('such as a timeout is Analyst.Unavailable', async () => {
    const { analyst } = await analystThatHears(['hang'], { timeoutMs: 50, maxTries: 1 });
    await expect(analyst.ask(request())).rejects.toMatchObject({ type: 'Analyst.Unavailable' });
  });

  test('such as a timeout is tried again', async () => {
    // The fake sees the first request only where the time was enough to send it, so what it sees does not count.
    const { analyst } = await analystThatHears(['hang', GOOD], { timeoutMs: 200, maxTries: 1_000, longestWaitMs: 1 });
    const { tries } = await analyst.ask(request());
    expect(tries).toBeGreaterThan(1);
  });

  test('such as a timeout is said and counted, and the next request gets twice the time', async () => {
    const { analyst } = await analystThatHears(['hang', { status: 504 }, GOOD], { timeoutMs: 500 });
    const sent: unknown[] = [];
    const lost: number[] = [];
    const { tries } = await analyst.ask(
      request({ onSent: (one) => sent.push(one), onLost: ({ promptTokens }) => lost.push(promptTokens) }),
    );
    expect(lost).toHaveLength(tries - 1);
    expect(lost[0]).toBeGreaterThan(0);
    expect(sent).toEqual(Array.from({ length: tries }, (_, i) => ({ tries: i + 1, timeoutMs: 500 * 2 ** i })));
  });

  test('such as an endpoint that is full is not lost: it has done nothing', async () => {
    const { analyst } = await analystThatHears([{ status: 503 }, { status: 429 }, GOOD]);
    const lost: unknown[] = [];
    await analyst.ask(request({ onLost: (one) => lost.push(one) }));
    expect(lost).toEqual([]);
  });

  test('such as an endpoint that is not there is Analyst.Unavailable', async () => {
    const { analyst } = await analystThatHears([GOOD], { maxTries: 1 });
    await stub?.close();
    await expect(analyst.ask(request())).rejects.toMatchObject({ type: 'Analyst.Unavailable' });
  });
});

test.each([
  [401, 'Analyst.Unauthorised'],
  [404, 'Analyst.BadRequest'],
])('%i fails at once', async (status, type) => {
  const { analyst, requests } = await analystThatHears([{ status }]);
  await expect(analyst.ask(request())).rejects.toMatchObject({ type, nonRetryable: true });
  expect(requests).toHaveLength(1);
});

test('a cancelled activity gets the answer that is under way, and sends nothing more', async () => {
  let answer = (_: FakeAnalystAnswer): void => undefined;
  const held = new Promise<FakeAnalystAnswer>((resolve) => (answer = resolve));
  stub = await startFakeAnalyst(() => held);
  const options = { baseUrl: stub.url, apiKey: 'key-1', model: 'm-1', concurrency: 1, maxReasks: 0, timeoutMs: 60_000 };
  const analyst = createAnalyst({ ...options, answerGraceMs: 60_000 });
  const controller = new AbortController();
  const kept: unknown[] = [];
  const keep = async ({ value }: { value: unknown }) => void kept.push(value);
  const asked = analyst.ask({ ...request({ signal: controller.signal }), keep });
  const waiting = analyst.ask(request({ signal: controller.signal, key: 'b'.repeat(64) }));
  while (stub.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort(new CancelledFailure('the run was cancelled'));
  answer(GOOD);
  await asked;
  await expect(waiting).rejects.toThrow('the run was cancelled');
  expect(kept).toEqual([{ label: 'A', step: 3 }]);
  expect(stub.requests).toHaveLength(1);
});

test('a cancelled activity abandons a call whose answer does not come', async () => {
  const { analyst, requests } = await analystThatHears(['hang'], { answerGraceMs: 1 });
  const controller = new AbortController();
  const asked = analyst.ask(request({ signal: controller.signal }));
  while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort(new CancelledFailure('the run was cancelled'));
  await expect(asked).rejects.toThrow('the run was cancelled');
});

test('no more calls run at once than the limit allows', async () => {
  let running = 0;
  let most = 0;
  stub = await startFakeAnalyst(async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 10));
    running--;
    return GOOD;
  });
  const analyst = createAnalyst({
    baseUrl: stub.url,
    apiKey: 'x',
    model: 'm',
    concurrency: 3,
    maxReasks: 0,
    timeoutMs: 60_000,
  });
  await Promise.all(Array.from({ length: 12 }, (_, i) => analyst.ask(request({ key: `${i}` }))));
  expect(most).toBe(3);
});

test('a question holds its place until its answer is kept', async () => {
  const { analyst, requests } = await analystThatHears([GOOD]);
  let release: () => void = () => undefined;
  const kept = new Promise<void>((resolve) => (release = resolve));
  const asked = Array.from({ length: 6 }, (_, i) => analyst.ask(request({ key: `${i}`, keep: () => kept })));
  while (requests.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
  // All four are answered and none is kept: a fifth would be one more to lose.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(requests).toHaveLength(4);
  release();
  await Promise.all(asked);
  expect(requests).toHaveLength(6);
});

test('a question without a valid answer keeps its place until that is kept', async () => {
  const { analyst, requests } = await analystThatHears([{ content: 'no' }], { concurrency: 1, maxReasks: 0 });
  let release: () => void = () => undefined;
  const kept = new Promise<void>((resolve) => (release = resolve));
  const refusals: number[] = [];
  const keepRefusal = async ({ asks }: { asks: number }) => {
    refusals.push(asks);
    await kept;
  };
  const asked = Promise.allSettled([0, 1].map((i) => analyst.ask(request({ key: `${i}`, keepRefusal }))));
  while (refusals.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(requests).toHaveLength(1);
  release();
  expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(refusals).toEqual([1, 1]);
});

test('a refusal that cannot be kept is an error of its own', async () => {
  const { analyst } = await analystThatHears([{ content: 'no' }]);
  await expect(analyst.ask(request({ keepRefusal: () => Promise.reject(new Error('disk full')) }))).rejects.toThrow(
    'disk full',
  );
});

test('an answer that cannot be kept is an error of the question', async () => {
  const { analyst } = await analystThatHears([GOOD]);
  await expect(analyst.ask(request({ keep: () => Promise.reject(new Error('disk full')) }))).rejects.toThrow(
    'disk full',
  );
});

describe('what a failure tells, which ends up in histories and logs,', () => {
  /** Everything of an error and its causes that a failure converter could write down. */
  const told = (error: unknown): string => {
    if (!(error instanceof Error)) return '';
    const { details } = error as { details?: unknown[] };
    return [error.message, error.stack, JSON.stringify(details ?? []), told(error.cause)].join('\n');
  };

  test('has no value that was redacted in the prompt', async () => {
    const { analyst, requests } = await analystThatHears(
      (index) => ({ content: `no JSON, but ${requests[index]!.body.messages[0]!.content}` }),
      {
        redaction: { when: 'always', rules: ['email'], patterns: [] },
        redactionSecret: () => Promise.resolve('s'.repeat(64)),
      },
    );
    const error = await analyst
      .ask(request({ messages: [{ role: 'user', content: 'ana.ruiz@mail.example asks' }] }))
      .catch((e: unknown) => e);
    expect(requests[0]!.body.messages[0]!.content).toMatch(/^\[email:[0-9a-f]{10}\] asks$/);
    expect(error).toMatchObject({ type: 'Analyst.Malformed' });
    expect(told(error)).toMatch(/\[email:[0-9a-f]{10}\] asks/);
    expect(told(error)).not.toContain('ana.ruiz');
  });

  test('has no part of a key either, where a long error with status 200 is cut in it', async () => {
    const message = `${'x'.repeat(490)} secret-key-1`;
    const { analyst } = await analystThatHears([(response) => response.end(JSON.stringify({ error: { message } }))], {
      apiKey: 'secret-key-1',
      maxTries: 1,
    });
    const error = await analyst.ask(request()).catch((e: unknown) => e);
    expect(told(error)).toMatch(/x{100}/);
    expect(told(error)).not.toContain('secret');
  });

  test.each([400, 401, 404, 429, 500])(
    'has no key, even where the endpoint repeats it with status %i',
    async (status) => {
      const { analyst } = await analystThatHears([{ status, error: { message: 'bad header: Bearer secret-key-1' } }], {
        apiKey: 'secret-key-1',
        maxTries: 1,
      });
      const error = await analyst.ask(request()).catch((e: unknown) => e);
      expect(told(error)).toContain('bad header');
      expect(told(error)).not.toContain('secret-key-1');
    },
  );
});
