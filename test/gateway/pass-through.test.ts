// tier: integration
import { GatewayFixture, versionOf } from './gateway-fixture';
import { chunkEvent, send } from '../fakes/replica';

describe('the gateway passes on', () => {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ registry: { versions: [versionOf(1, 'weigh', 'stamp')] } }));
  afterAll(() => fixture.stop());
  afterEach(() => {
    fixture.replicas[0]!.behaviour = null;
    fixture.replicas[0]!.requests.length = 0;
  });
  const replica = () => fixture.replicas[0]!;

  it('every byte of a request but the model name', async () => {
    const body =
      '{"messages":[{"role":"user","content":"caf\u00e9 \\"model\\": \\u0041"}], ' +
      '"seed": 12345678901234567890,\n "model" : "desk@base", "unknown":{"model":"x"}}';
    await fixture.post('/v1/chat/completions', body);
    expect(
      replica()
        .completions()
        .map(({ text }) => text),
    ).toEqual([body.replace('"desk@base"', '"desk-base"')]);
  });

  it("an answer's bytes and says what answered", async () => {
    replica().behaviour = (_, response) => (
      send(response, 200, '{"choices": [ ],\n "odd": 1e400}', { 'x-request-id': 'r1' }),
      true
    );
    const answer = await fixture.chat('hi', { model: 'desk@base' });
    expect(answer.text).toBe('{"choices": [ ],\n "odd": 1e400}');
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-request-id': 'r1',
      'x-whet-adapter': 'base',
      'x-whet-route': 'base',
    });
    expect(Number(answer.headers.get('x-whet-overhead-ms'))).toBeGreaterThanOrEqual(0);
  });

  it('streams event by event', async () => {
    const answer = await fixture.chat('need:weigh', { stream: true });
    expect(answer.text).toBe(
      `${chunkEvent('weigh@111111111111', 'hel')}${chunkEvent('weigh@111111111111', 'lo')}data: [DONE]\n\n`,
    );
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(answer.headers.get('x-whet-adapter')).toBe('weigh@111111111111');
  });

  it("whole events only, when a server's pieces cut through them", async () => {
    const event = chunkEvent('desk-base', 'hello');
    replica().behaviour = (_, response) => {
      response.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=UTF-8' });
      response.write(event.slice(0, 20));
      setTimeout(() => response.write(event.slice(20) + event.slice(0, 5)), 10);
      setTimeout(() => response.end(`${event.slice(5)}data: [DONE]`), 20);
      return true;
    };
    expect((await fixture.chat('hi', { stream: true, model: 'desk@base' })).text).toBe(
      `${event}${event}data: [DONE]\n\n`,
    );
  });

  it('plain completions and embeddings', async () => {
    replica().behaviour = ({ path, body }, response) => (send(response, 200, { path, model: body.model }), true);
    expect((await fixture.post('/v1/completions', { model: 'desk@base', prompt: 'once' })).json).toEqual({
      path: '/v1/completions',
      model: 'desk-base',
    });
    expect((await fixture.post('/v1/embeddings', { model: 'desk', input: 'once' })).json).toEqual({
      path: '/v1/embeddings',
      model: 'desk-base',
    });
  });

  it("a model server's refusal in OpenAI's format, with its advice when to come back", async () => {
    replica().behaviour = (_, response) => (
      send(response, 429, { object: 'error', message: 'slow down' }, { 'retry-after': '7' }),
      true
    );
    const answer = await fixture.chat('hi', { model: 'desk@base' });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('7');
    expect(answer.json).toEqual({ error: { message: 'slow down', type: 'rate_limit_error', param: null, code: null } });
  });

  it("a client's going away", async () => {
    const { aborted } = replica();
    replica().behaviour = () => true;
    const stop = new AbortController();
    const asked = fixture.post(
      '/v1/chat/completions',
      { model: 'desk@base', messages: [{ role: 'user', content: 'hi' }] },
      {},
      stop.signal,
    );
    asked.catch(() => undefined);
    await fixture.until(() => replica().completions().length === 1);
    stop.abort();
    await fixture.until(() => replica().aborted === aborted + 1);
    // The broken connection was the client's doing: the server is trusted as before.
    expect(fixture.agent.replicas.anyReady()).toBe(true);
  });

  it('no key of a client to a model server, and none of the model servers is exposed', async () => {
    await fixture.chat('hi', { model: 'desk@base' }, { authorization: 'Bearer secret', 'x-request-id': 'r2' });
    const [seen] = replica().completions();
    expect(seen?.headers['authorization']).toBeUndefined();
    expect(seen?.headers['x-request-id']).toBe('r2');
    for (const path of [
      '/v1/load_lora_adapter',
      '/v1/unload_lora_adapter',
      '/v1/chat/completions/../load_lora_adapter',
    ]) {
      expect((await fixture.post(path, { lora_name: 'x', lora_path: '/etc' })).status).toBe(404);
    }
  });
});
