// Tier: integration.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { chunkEvent, type SeenRequest, send } from '../../fakes/replica';
import { GatewayFixture, versionOf } from '../gateway-fixture';

const CALLS = [
  { index: 0, id: 'call_a', type: 'function', function: { name: 'weigh', arguments: '{"parcel":"P1"}' } },
  { index: 1, id: 'call_b', type: 'function', function: { name: 'stamp', arguments: '{"count":2}' } },
];
const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 4,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 3 },
};

let fixture: GatewayFixture;
let openai: OpenAI;
let anthropic: Anthropic;
let seen: SeenRequest[];

/** A model that thinks, says something and calls two tools, and ends when it has their results. */
beforeAll(async () => {
  fixture = await new GatewayFixture().start({ registry: { versions: [versionOf(1, 'need')] } });
  openai = new OpenAI({ baseURL: `${fixture.url}/v1`, apiKey: 'k', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: fixture.url, apiKey: 'k', maxRetries: 0 });
  fixture.replicas[0]!.behaviour = ({ body, path }, response) => {
    if (!path.endsWith('/chat/completions') || body.structured_outputs) return false;
    const isLast = body.messages?.at(-1)?.role === 'tool';
    const message = isLast
      ? { role: 'assistant', content: 'sent' }
      : { role: 'assistant', content: 'on it', reasoning_content: 'two steps', tool_calls: CALLS };
    const finish_reason = isLast ? 'stop' : 'tool_calls';
    const head = { id: 'c', created: 1, model: body.model };
    if (body.stream !== true) {
      send(response, 200, {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason }],
        usage: USAGE,
      });
      return true;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const { content, ...rest } = message;
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.write(chunk({ ...rest, tool_calls: undefined }));
    for (const piece of content.split('')) response.write(chunkEvent(String(body.model), piece));
    if (!isLast) for (const call of CALLS) response.write(chunk({ tool_calls: [call] }));
    response.write(chunk({}, finish_reason));
    response.end(`data: ${JSON.stringify({ ...head, choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`);
    return true;
  };
});
afterAll(() => fixture.stop());
beforeEach(() => {
  fixture.replicas[0]!.requests.length = 0;
  seen = fixture.replicas[0]!.requests;
});

const sentMessages = () => seen.filter(({ path }) => path.endsWith('/chat/completions')).at(-1)!.body.messages;
const CHAT = [
  { role: 'system', content: 'be brief' },
  { role: 'user', content: 'send P1' },
  {
    role: 'assistant',
    content: 'on it',
    reasoning_content: 'two steps',
    tool_calls: CALLS.map(({ index: _, ...call }) => call),
  },
  { role: 'tool', tool_call_id: 'call_a', content: '90 g' },
  { role: 'tool', tool_call_id: 'call_b', content: 'done' },
];

describe.each([false, true])("the openai package's responses, streamed: %s", (isStream) => {
  const ask = async (input: OpenAI.Responses.ResponseInput): Promise<OpenAI.Responses.Response> => {
    const asked = {
      model: 'desk',
      instructions: 'be brief',
      input,
      tools: [{ type: 'function', name: 'weigh', parameters: { type: 'object' }, strict: null }],
    } satisfies OpenAI.Responses.ResponseCreateParamsNonStreaming;
    return isStream ? openai.responses.stream(asked).finalResponse() : openai.responses.create(asked);
  };

  test('a conversation with parallel calls', async () => {
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'send P1' }];
    const first = await ask(input);
    expect(first.output_text).toBe('on it');
    expect(first.status).toBe('completed');
    expect(first.usage).toMatchObject({
      input_tokens: 11,
      output_tokens: 4,
      input_tokens_details: { cached_tokens: 3 },
    });
    const calls = first.output.filter((item) => item.type === 'function_call');
    expect(calls.map(({ call_id: id, name, arguments: given }) => [id, name, given])).toEqual([
      ['call_a', 'weigh', '{"parcel":"P1"}'],
      ['call_b', 'stamp', '{"count":2}'],
    ]);
    input.push(
      ...(first.output as OpenAI.Responses.ResponseInput),
      { type: 'function_call_output', call_id: 'call_a', output: '90 g' },
      { type: 'function_call_output', call_id: 'call_b', output: 'done' },
    );
    const last = await ask(input);
    expect(last.output_text).toBe('sent');
    expect(sentMessages()).toEqual(CHAT);
  });
});

describe.each([false, true])("Anthropic's own client, streamed: %s", (isStream) => {
  const ask = async (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
    const asked: Anthropic.MessageCreateParamsNonStreaming = {
      model: 'desk',
      max_tokens: 50,
      system: 'be brief',
      messages,
      tools: [{ name: 'weigh', input_schema: { type: 'object' } }],
    };
    return isStream ? anthropic.messages.stream(asked).finalMessage() : anthropic.messages.create(asked);
  };

  test('a conversation with parallel calls', async () => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'send P1' }];
    const first = await ask(messages);
    expect(first.stop_reason).toBe('tool_use');
    expect(first.content).toMatchObject([
      { type: 'thinking', thinking: 'two steps' },
      { type: 'text', text: 'on it' },
      { type: 'tool_use', id: 'call_a', name: 'weigh', input: { parcel: 'P1' } },
      { type: 'tool_use', id: 'call_b', name: 'stamp', input: { count: 2 } },
    ]);
    expect(first.usage).toMatchObject({ input_tokens: 8, cache_read_input_tokens: 3, output_tokens: 4 });
    messages.push(
      { role: 'assistant', content: first.content as Anthropic.ContentBlockParam[] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_a', content: '90 g' },
          { type: 'tool_result', tool_use_id: 'call_b', content: 'done' },
        ],
      },
    );
    const last = await ask(messages);
    expect(last.stop_reason).toBe('end_turn');
    expect(last.content).toMatchObject([{ type: 'text', text: 'sent' }]);
    expect(sentMessages()).toEqual(CHAT);
  });
});

test('each dialect gets its own errors', async () => {
  await expect(openai.responses.create({ model: 'nobody', input: 'x' })).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  });
  await expect(
    anthropic.messages.create({ model: 'nobody', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }),
  ).rejects.toMatchObject({ status: 404, type: 'not_found_error' });
  await expect(openai.responses.create({ model: 'desk', input: 'x', previous_response_id: 'r' })).rejects.toMatchObject(
    {
      status: 400,
      param: 'previous_response_id',
    },
  );
  const wrong = await fixture.get('/v1/messages');
  expect(wrong.status).toBe(405);
  expect(wrong.json['type']).toBe('error');
});

test('tokens of a conversation are counted by the server beside /v1, or are not implemented', async () => {
  const { behaviour } = fixture.replicas[0]!;
  const conversation = {
    model: 'desk',
    system: 'You send parcels.',
    messages: [{ role: 'user' as const, content: 'go' }],
    tools: [{ name: 'weigh', input_schema: { type: 'object' as const } }],
  };
  try {
    fixture.replicas[0]!.behaviour = ({ path }, response) => {
      if (path !== '/tokenize') return false;
      send(response, 200, { count: 12, max_model_len: 64, tokens: [1, 2] });
      return true;
    };
    expect(await anthropic.messages.countTokens(conversation)).toEqual({ input_tokens: 12 });
    const { body } = seen.at(-1)!;
    expect(Object.keys(body).sort()).toEqual(['messages', 'model', 'tools']);
    expect(body.messages).toEqual([
      { role: 'system', content: 'You send parcels.' },
      { role: 'user', content: 'go' },
    ]);
    fixture.replicas[0]!.behaviour = ({ path }, response) =>
      path === '/tokenize' && (send(response, 404, { detail: 'Not Found' }), true);
    await expect(anthropic.messages.countTokens(conversation)).rejects.toMatchObject({
      status: 501,
      error: { type: 'error', error: { message: expect.stringContaining('does not count') as string } },
    });
    fixture.replicas[0]!.behaviour = ({ path }, response) =>
      path === '/tokenize' && (send(response, 200, { count: -1 }), true);
    await expect(anthropic.messages.countTokens(conversation)).rejects.toMatchObject({ status: 502 });
    await expect(anthropic.messages.countTokens({ ...conversation, messages: [] })).rejects.toMatchObject({
      status: 400,
    });
  } finally {
    fixture.replicas[0]!.behaviour = behaviour;
  }
});

test('a request in any dialect is routed and recorded as the same conversation is', async () => {
  const task = 'need:need the parcel';
  const adapters = [
    await fixture.chat(task),
    await fixture.post('/v1/responses', { model: 'desk', input: task }),
    await fixture.post('/v1/messages', { model: 'desk', max_tokens: 5, messages: [{ role: 'user', content: task }] }),
  ].map(({ headers }) => [headers.get('x-whet-adapter'), headers.get('x-whet-conversation')]);
  expect(new Set(adapters.map(String)).size).toBe(1);
});
