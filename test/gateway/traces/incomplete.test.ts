// tier: integration
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { type Trajectory, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { collectedTraces, readTraces } from '../../../store';
import { chunkEvent, completion, send } from '../../fakes/replica';
import { GatewayFixture } from '../gateway-fixture';

const HEADERS = { 'x-whet-conversation': 'c-1' };
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };

describe('a conversation that cannot be kept whole', () => {
  let fixture: GatewayFixture;
  beforeEach(async () => {
    fixture = await new GatewayFixture().start({ agent: { traces: { sample: 1 } }, config: { retries: 0 } });
  });
  afterEach(() => fixture.stop());
  const answerBy = (behave: (response: ServerResponse) => void) =>
    (fixture.replicas[0]!.behaviour = (_request, response) => {
      behave(response);
      return true;
    });
  const stream = (text: string) => (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
  /** A streamed turn whose client has got the first event when `then` is called. Ends with the stream. */
  const half = async (then: (response: ServerResponse, client: AbortController) => void) => {
    let open!: ServerResponse;
    answerBy((response) =>
      (open = response).writeHead(200, { 'content-type': 'text/event-stream' }).write(chunkEvent('m', 'half')),
    );
    const client = new AbortController();
    const answer = await fetch(`${fixture.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...HEADERS },
      body: JSON.stringify({ model: 'desk@base', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
      signal: client.signal,
    });
    const reader = answer.body!.getReader();
    await reader.read();
    then(open, client);
    while (!(await reader.read().catch(() => ({ done: true }))).done);
  };
  const say = (content: unknown, more = {}) =>
    fixture.post(
      '/v1/chat/completions',
      { model: 'desk@base', messages: [{ role: 'user', content }], ...more },
      HEADERS,
    );
  const turn = (count: number, more = {}) =>
    fixture.post(
      '/v1/chat/completions',
      { model: 'desk@base', messages: Array(count).fill({ role: 'user', content: 'hi' }), ...more },
      HEADERS,
    );
  const outcome = (reward = 1) => fixture.post('/v1/outcomes', { conversation: 'c-1', reward });
  const written = async (): Promise<Trajectory[]> => {
    const day = `traces/desk/${new Date().toISOString().slice(0, 10)}`;
    return (await fixture.store.list(day)).flatMap((name) =>
      readFileSync(fixture.store.localPath(`${day}/${name}`), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => trajectorySchema.parse(JSON.parse(line))),
    );
  };
  const evidence = async () => {
    const query = collectedTraces({ days: 1, most: 10, models: 'any' }, 'desk-base');
    return (await readTraces(fixture.store, 'desk', { ...query, now: Date.now() })).trajectories;
  };
  const counted = async (result: string) =>
    expect((await fixture.get('/metrics')).text).toContain(
      `whet_gateway_traces_total{agent="desk",result="${result}"} 1`,
    );
  /** The one trace lacks this, is counted as such, and is no evidence. */
  const marked = async (...leftOut: string[]) => {
    const found = await written();
    expect(found.map((one) => one.leftOut)).toEqual([leftOut]);
    expect(await evidence()).toEqual([]);
    await counted('incomplete');
    return found[0]!.messages.map(({ content }) => content);
  };

  it('with an image is marked where the image was', async () => {
    await say([{ type: 'text', text: 'what is on it' }, IMAGE]);
    await outcome();
    expect(await marked('image')).toEqual(['what is on it\n[left out: image]', 'hello']);
  });

  it('of text alone is evidence', async () => {
    await say([{ type: 'text', text: 'hi' }]);
    await outcome();
    expect((await written()).map(({ leftOut }) => leftOut)).toEqual([undefined]);
    expect(await evidence()).toEqual(await written());
    await counted('written');
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['an error event', stream(`${chunkEvent('m', 'half')}data: {"error":{"message":"x"}}\n\ndata: [DONE]\n\n`)],
    ['half an event', stream(`${chunkEvent('m', 'half')}data: {"x`)],
    ['no end', stream(chunkEvent('m', 'half'))],
  ])('since its stream ends with %s is marked', async (_name, behave) => {
    answerBy(behave);
    await turn(1, { stream: true });
    await outcome();
    expect(await marked('end')).toEqual(['hi', 'half']);
  });

  it.each<[string, Parameters<typeof half>[0]]>([
    ['an event that is no JSON', (response) => void response.end('data: x\n\n')],
    ['a broken connection', (response) => void response.destroy()],
    ['its client', (_response, client) => client.abort()],
  ])('since its stream ends later with %s is marked', async (_name, then) => {
    await half(then);
    const ended = /(?:clients_gone|streams_cut)_total\{agent="desk"\} 1/;
    await fixture.until(async () => ended.test((await fixture.get('/metrics')).text));
    await outcome();
    expect(await marked('end')).toEqual(['hi', 'half']);
  });

  it.each([false, true])('since its answer is longer than what is kept is marked (stream: %s)', async (streams) => {
    const text = 'y'.repeat(1_100_000);
    answerBy(streams ? stream(`${chunkEvent('m', text)}data: [DONE]\n\n`) : (r) => send(r, 200, completion('m', text)));
    await turn(1, { stream: streams });
    await outcome();
    expect(await marked('end')).toEqual(['hi', '']);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['an error', (response) => send(response, 500, {})],
    ['a refusal', (response) => send(response, 400, { error: { message: 'too long' } })],
    ['an error in a stream', stream('data: {"error":{"message":"x"}}\n\n')],
  ])('since its last request got %s is marked', async (_name, behave) => {
    await turn(1);
    answerBy(behave);
    expect((await turn(2, { stream: true })).status).toBeGreaterThanOrEqual(400);
    await outcome();
    expect(await marked('end')).toEqual(['hi', 'hello']);
  });

  it('is whole again once the request was repeated with success', async () => {
    await turn(1);
    answerBy((response) => send(response, 500, {}));
    await turn(2);
    fixture.replicas[0]!.behaviour = null;
    await turn(2);
    await outcome();
    expect((await evidence()).map(({ messages }) => messages.length)).toEqual([3]);
  });

  it('and never had an answer is no trace', async () => {
    answerBy((response) => send(response, 500, {}));
    await turn(1);
    await outcome();
    expect(await written()).toEqual([]);
  });

  it('is read by what was answered, not by what was asked for', async () => {
    answerBy((response) => send(response, 200, completion('m', 'whole although a stream was asked for')));
    await turn(1, { stream: true });
    await outcome();
    expect((await evidence())[0]!.messages.at(-1)!.content).toBe('whole although a stream was asked for');
  });

  it('what was said in several lines of data, thought and refused is kept', async () => {
    const chunk = (said: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: said }] })}\n\n`;
    const lines = 'data: {"choices":[{"index":0,\ndata: "delta":{"content":"ticket [DONE]"}}]}\n\n';
    answerBy(stream(`${chunk({ reasoning_content: 'hm' })}${lines}${chunk({ refusal: 'no' })}data: [DONE]\n\n`));
    await turn(1, { stream: true });
    await outcome();
    expect((await evidence())[0]!.messages.at(-1)).toEqual({
      role: 'assistant',
      content: 'ticket [DONE]\nno',
      reasoning_content: 'hm',
    });
  });

  it('a completion of a prompt is no conversation, whatever else it has', async () => {
    answerBy((response) => send(response, 200, { choices: [{ index: 0, text: 'x' }] }));
    const body = { model: 'desk@base', prompt: 'hi', messages: [{ role: 'user', content: 'hi' }] };
    await fixture.post('/v1/completions', body, HEADERS);
    await outcome();
    expect(await written()).toEqual([]);
  });
});
