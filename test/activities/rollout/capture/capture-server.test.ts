// Tier: integration.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { modelFailure, ModelFault } from '../../../../activities/rollout';
import { type CaptureAddress, CaptureServer } from '../../../../activities/rollout/capture/capture-server';
import { EpisodeCapture } from '../../../../activities/rollout/capture/episode-capture';
import type { ChatAnswer, ChatRequest } from '../../../../activities/rollout/model-client';

type Asked = Omit<ChatRequest, 'baseUrl'>;

const said = (content: string, more: Partial<ChatAnswer> = {}): ChatAnswer => ({
  content,
  reasoning: null,
  cut: false,
  toolCalls: [],
  promptTokens: 10,
  completionTokens: 2,
  firstToken: [],
  fingerprint: null,
  ...more,
});
const PLAN = { seed: 3, split: 'train' as const, trial: 0, model: 'adapter@1', samplingSeed: 700 };
const SETTINGS = { temperature: 0.5, maxTurns: 4, maxCompletionTokens: 64, successReward: 1 };

let server: CaptureServer;
let asked: Asked[];
/** What the model says, or what it throws. */
let answer: (request: Asked) => ChatAnswer | Promise<ChatAnswer>;

const openEpisode = async (): Promise<{ capture: EpisodeCapture; address: CaptureAddress }> => {
  const chat = async (request: Asked) => {
    asked.push(structuredClone(request));
    return answer(request);
  };
  const capture = new EpisodeCapture({ plan: PLAN, settings: SETTINGS, chat, model: 'desk' });
  return { capture, address: await server.open(capture) };
};
const post = async (
  address: Pick<CaptureAddress, 'url' | 'key'>,
  body: unknown,
  headers: Record<string, string> = {},
) => {
  const response = await fetch(`${address.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${address.key}`, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, never> & { error: { code: string } },
  };
};
const user = (content: string) => ({ role: 'user', content });
const RESULT = { type: 'tool_result', tool_use_id: 'a', content: 'x' };
const chat = (...messages: object[]) => ({ model: 'desk', messages });

beforeEach(() => {
  server = new CaptureServer();
  asked = [];
  answer = ({ messages }) => said(`answer ${messages.length}`);
});
afterEach(() => server.close());

describe('keys', () => {
  test('a foreign key, no key, and a key after its episode are refused, and nothing is asked', async () => {
    const { address } = await openEpisode();
    const other = await openEpisode();
    expect(address.key).not.toBe(other.address.key);
    expect(Buffer.from(address.key, 'base64url')).toHaveLength(32);
    const bad = ['wrong', address.key.slice(0, -1), `${address.key}A`, ''];
    for (const key of bad) expect((await post({ ...address, key }, chat(user('x')))).status).toBe(401);
    address.end();
    expect((await post(address, chat(user('x')))).body.error.code).toBe('invalid_api_key');
    expect(asked).toEqual([]);
    expect((await post(other.address, chat(user('x')))).status).toBe(200);
  });

  test('an answer goes to the episode of its key alone', async () => {
    const [one, two] = [await openEpisode(), await openEpisode()];
    await post(one.address, chat(user('mine')));
    expect(one.capture.captured.messages.map(({ content }) => content)).toEqual(['mine', 'answer 1']);
    expect(two.capture.captured.messages).toEqual([]);
  });

  test('the list of models needs a key, and names one model', async () => {
    const { address } = await openEpisode();
    const list = (key: string) => fetch(`${address.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect((await list('wrong')).status).toBe(401);
    const models = (await (await list(address.key)).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toEqual(['desk']);
  });
});

describe('bounds', () => {
  test('a huge body is refused, with and without a key', async () => {
    const { address } = await openEpisode();
    const body = JSON.stringify(chat(user('x'.repeat(9_000_000))));
    expect((await post(address, body)).status).toBe(413);
    const refused = await post({ ...address, key: 'wrong' }, body).catch(() => ({ status: 401 }));
    expect(refused.status).toBe(401);
    expect(asked).toEqual([]);
  });

  test('10,000 requests are answered a thousand times', async () => {
    const { address, capture } = await openEpisode();
    const statuses: Record<number, number> = {};
    for (let from = 0; from < 10_000; from += 20) {
      const sent = Array.from({ length: 20 }, (_, i) => post(address, chat(user(`question ${from + i}`))));
      for (const { status } of await Promise.all(sent)) statuses[status] = (statuses[status] ?? 0) + 1;
    }
    expect(statuses).toEqual({ 200: 1_000, 429: 9_000 });
    expect(asked).toHaveLength(1_000);
    expect(capture.captured.others).toHaveLength(999);
  });

  test.each([
    ['/v1/chat/completions', 'messages', Array(2_001).fill(user('x'))],
    ['/v1/responses', 'input', Array(2_001).fill(user('x'))],
    ['/v1/messages', 'messages', Array(2_001).fill(user('x'))],
    ['/v1/messages', 'messages', [{ role: 'user', content: Array(2_001).fill(RESULT) }]],
  ])('%s has at most 2,000 messages', async (path, name, messages) => {
    const { address } = await openEpisode();
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${address.key}` };
    const body = JSON.stringify({ model: 'desk', max_tokens: 5, [name]: messages });
    const response = await fetch(`${address.url}${path}`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('at most 2000');
    expect(asked).toEqual([]);
  });

  test.each([true, false])('all that an episode sends is counted, whether its length is said: %s', async (isSaid) => {
    const { address } = await openEpisode();
    const body = JSON.stringify({ ...chat(user('the same')), ignored: 'x'.repeat(8_000_000) });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${address.key}` };
    const send = () => {
      const sent = isSaid ? body : new Blob([body]).stream();
      return fetch(`${address.url}/v1/chat/completions`, { method: 'POST', headers, body: sent, duplex: 'half' });
    };
    for (let i = 0; i < 33; i++) expect((await send()).status).toBe(200);
    const refused = await send();
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain('as much as an episode may ask');
    expect(asked).toHaveLength(33);
  });

  test('no conversation has more answers than it has turns, sub-agents included', async () => {
    const { address, capture } = await openEpisode();
    const play = async (name: string) => {
      const messages: object[] = [user(name)];
      const codes = [];
      for (let i = 0; i < 6; i++) {
        const { body } = await post(address, chat(...messages));
        codes.push(body.error?.code ?? null);
        if (body.error === undefined) messages.push({ role: 'assistant', content: `answer ${2 * i + 1}` }, user('on'));
      }
      return codes;
    };
    expect(await play('one')).toEqual([null, null, null, null, 'turn_limit', 'turn_limit']);
    expect(await play('another')).toEqual([null, null, null, null, 'turn_limit', 'turn_limit']);
    expect(asked).toHaveLength(8);
    expect(capture.captured).toMatchObject({ answers: 4, isBeyondTurns: true, others: [{ length: 9 }] });
    expect(capture.captured.messages).toHaveLength(9);
  });

  test('an episode that has said too much is asked nothing more', async () => {
    const { address } = await openEpisode();
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await post(address, chat(user(`${i}${'x'.repeat(3_000_000)}`)))).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  test('too many requests at a time are refused, and room comes back', async () => {
    const { address } = await openEpisode();
    let goOn!: () => void;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    answer = async () => held.then(() => said('late'));
    const first = Array.from({ length: 32 }, (_, i) => post(address, chat(user(`${i}`))));
    while (asked.length < 32) await new Promise((resolve) => setImmediate(resolve));
    expect((await post(address, chat(user('one more')))).status).toBe(429);
    goOn();
    expect((await Promise.all(first)).every(({ status }) => status === 200)).toBe(true);
    expect((await post(address, chat(user('again')))).status).toBe(200);
  });

  test.each([
    ['no JSON', '{', 400],
    ['a list', '[]', 400],
    ['no messages', { model: 'desk' }, 400],
    ['empty messages', chat(), 400],
    ['a message that is none', chat({ role: 'wizard', content: 'x' }), 400],
    ['a null message', { model: 'desk', messages: [null] }, 400],
    ['two answers', { ...chat(user('x')), n: 2 }, 400],
    ['a tool without a name', { ...chat(user('x')), tools: [{ type: 'function', function: {} }] }, 400],
    ['tools that are too deep', { ...chat(user('x')), tools: `${'['.repeat(5_000)}${']'.repeat(5_000)}` }, 400],
    ['another model', { ...chat(user('x')), model: 'gpt-9' }, 404],
  ])('%s is refused', async (_, body, status) => {
    const { address, capture } = await openEpisode();
    const text = JSON.stringify(body).replace(/"(\[{9}.*\]{9})"/, '$1');
    expect((await post(address, typeof body === 'string' ? body : text)).status).toBe(status);
    expect(asked).toEqual([]);
    expect(capture.captured.messages).toEqual([]);
  });

  test('prototypes cannot be reached', async () => {
    const { address } = await openEpisode();
    expect((await post(address, '{"model": "desk", "messages": [], "__proto__": {"polluted": 1}}')).status).toBe(400);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('what is asked', () => {
  test("the run's settings and seeds hold, whatever the program names", async () => {
    const { address } = await openEpisode();
    await post(address, {
      ...chat(user('a')),
      temperature: 2,
      seed: 1,
      max_tokens: 500,
      top_p: 0.1,
      tool_choice: 'auto',
    });
    await post(address, { ...chat(user('a'), { role: 'assistant', content: 'answer 1' }, user('b')), max_tokens: 7 });
    expect(asked).toEqual([
      expect.objectContaining({ model: 'adapter@1', temperature: 0.5, seed: 700, maxTokens: 64 }),
      expect.objectContaining({ temperature: 0.5, seed: 701, maxTokens: 7 }),
    ]);
    expect(asked[0]).not.toHaveProperty('further');
  });

  test('a repeated request gets an answer of its own', async () => {
    const { address, capture } = await openEpisode();
    for (let i = 0; i < 3; i++) await post(address, chat(user('a')));
    expect(new Set(asked.map(({ seed }) => seed)).size).toBe(3);
    expect(capture.captured.others).toHaveLength(2);
  });

  test('a request whose client went away gets the same answer again, once', async () => {
    const { capture } = await openEpisode();
    let goOn!: () => void;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    answer = async () => held.then(() => said(`answer ${asked.length}`));
    const first = capture.ask(chat(user('a')));
    first.missed();
    const second = capture.ask(chat(user('a')));
    goOn();
    expect([(await first.answer).text, (await second.answer).text]).toEqual(['answer 1', 'answer 1']);
    expect(asked).toHaveLength(1);
    await capture.ask(chat(user('a'))).answer;
    expect(asked).toHaveLength(2);
  });

  test('the server tells when a client went away', async () => {
    const { address, capture } = await openEpisode();
    const gone = new Promise<void>((resolve) => {
      const ask = capture.ask.bind(capture);
      capture.ask = (fields) => ({ ...ask(fields), missed: resolve });
    });
    answer = () => new Promise(() => undefined);
    const stop = new AbortController();
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${address.key}` };
    const body = JSON.stringify(chat(user('a')));
    const url = `${address.url}/v1/chat/completions`;
    const asking = fetch(url, { method: 'POST', headers, body, signal: stop.signal });
    while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await expect(asking).rejects.toThrow();
    await gone;
  });

  test('tools of the first request are known, and none are sent where the program forbids calls', async () => {
    const { address, capture } = await openEpisode();
    const tools = [{ type: 'function', function: { name: 'weigh', parameters: { type: 'object' } } }];
    await post(address, { ...chat(user('a')), tools });
    await post(address, { ...chat(user('b')), tools, tool_choice: 'none' });
    expect(capture.tools).toEqual(tools);
    expect(asked.map((request) => request.tools)).toEqual([tools, []]);
  });

  test('images make the conversation not whole', async () => {
    const { address, capture } = await openEpisode();
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
    await post(address, chat({ role: 'user', content: [{ type: 'text', text: 'see' }, image] }));
    expect(capture.captured.leftOut).toEqual(['image']);
  });
});

describe('faults of the model', () => {
  const fault = (kind: 'too-long' | 'conversation' | 'unauthorised') => () => {
    throw modelFailure(new ModelFault(kind, 'made to fail at http://inside:1/v1'));
  };

  test.each([
    ['too-long', 400, 'context_length_exceeded'],
    ['conversation', 400, 'conversation_refused'],
  ] as const)('%s is an error for the program, and is known as the end of the episode', async (kind, status, code) => {
    const { address, capture } = await openEpisode();
    answer = fault(kind);
    const refused = await post(address, chat(user('a')));
    expect(refused).toMatchObject({ status, body: { error: { code } } });
    expect(JSON.stringify(refused.body)).not.toContain('inside');
    expect(capture.captured).toMatchObject({ fault: { kind }, answers: 0, messages: [{ content: 'a' }] });
    answer = () => said('shorter');
    await post(address, chat(user('b')));
    expect(capture.captured.fault).toBeNull();
  });

  test('any other fault ends the set', async () => {
    const { address, capture } = await openEpisode();
    answer = fault('unauthorised');
    expect((await post(address, chat(user('a')))).status).toBe(503);
    await expect(capture.failure).rejects.toMatchObject({ type: 'Model.Unauthorised' });
  });
});

describe('clients of each dialect', () => {
  const call = { toolCalls: [{ name: 'weigh', arguments: '{"parcel": "P1"}' }] };
  const WEIGH = { type: 'object' as const, properties: { parcel: { type: 'string' } } };

  test.each([false, true])("OpenAI's chat completions, streamed: %s", async (stream) => {
    const { address } = await openEpisode();
    answer = () => said('', { ...call, reasoning: 'hm' });
    const openai = new OpenAI({ baseURL: `${address.url}/v1`, apiKey: address.key, maxRetries: 0 });
    const request = { model: 'desk', messages: [{ role: 'user' as const, content: 'go' }] };
    const answered = stream
      ? await openai.chat.completions
          .stream({ ...request, stream_options: { include_usage: true } })
          .finalChatCompletion()
      : await openai.chat.completions.create(request);
    expect(answered.choices[0]!.message).toMatchObject({
      content: null,
      tool_calls: [{ id: 'call_0_0', function: { name: 'weigh', arguments: '{"parcel": "P1"}' } }],
    });
    expect(answered.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 2 });
  });

  test.each([false, true])("OpenAI's responses, streamed: %s", async (stream) => {
    const { address, capture } = await openEpisode();
    answer = ({ messages }) => (messages.length === 1 ? said('', call) : said('sent'));
    const openai = new OpenAI({ baseURL: `${address.url}/v1`, apiKey: address.key, maxRetries: 0 });
    const ask = (input: OpenAI.Responses.ResponseInput) =>
      stream
        ? openai.responses.stream({ model: 'desk', input }).finalResponse()
        : openai.responses.create({ model: 'desk', input });
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'go' }];
    input.push(...((await ask(input)).output as OpenAI.Responses.ResponseInput));
    input.push({ type: 'function_call_output', call_id: 'call_0_0', output: '90 g' });
    expect((await ask(input)).output_text).toBe('sent');
    expect(capture.captured).toMatchObject({ answers: 2, others: [] });
    expect(capture.captured.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  test.each([false, true])("Anthropic's messages, streamed: %s", async (stream) => {
    const { address, capture } = await openEpisode();
    answer = ({ messages }) => (messages.length === 1 ? said('', call) : said('sent'));
    const anthropic = new Anthropic({ baseURL: address.url, apiKey: address.key, maxRetries: 0 });
    const ask = (messages: Anthropic.MessageParam[]) => {
      const request = { model: 'desk', max_tokens: 50, messages, tools: [{ name: 'weigh', input_schema: WEIGH }] };
      return stream ? anthropic.messages.stream(request).finalMessage() : anthropic.messages.create(request);
    };
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'go' }];
    messages.push({ role: 'assistant', content: (await ask(messages)).content as Anthropic.ContentBlockParam[] });
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0_0', content: '90 g' }] });
    expect((await ask(messages)).content).toMatchObject([{ type: 'text', text: 'sent' }]);
    expect(capture.captured).toMatchObject({ answers: 2, others: [] });
    await expect(ask([])).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' });
  });
});
