// tier: integration
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { GatewayFixture, versionOf } from './gateway-fixture';

const KEY = 'sk-one';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const post = (bytes: number): string =>
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
  `content-length: ${bytes}\r\n\r\n`;

/** Sends these bytes on a connection of their own, and returns what comes back until it is closed. */
const raw = ({ url }: GatewayFixture, bytes: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (data) => (text += data.toString()));
    socket.on('close', () => resolve(text));
  });

describe('bad input', () => {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({
      registry: { versions: [versionOf(1, 'weigh')] },
      config: { limits: { bodyBytes: 5_000 } },
    }),
  );
  afterAll(() => fixture.stop());

  it.each([
    ['no JSON', '{"model": ', 400, 'invalid_json'],
    ['a list', '[]', 400, 'invalid_json'],
    ['no model', '{"messages": []}', 400, 'missing_model'],
    [
      'an unknown model',
      '{"model": "../../etc", "messages": [{"role": "user", "content": "x"}]}',
      404,
      'model_not_found',
    ],
    [
      'the name at the model server',
      '{"model": "desk-base", "messages": [{"role": "user", "content": "x"}]}',
      404,
      'model_not_found',
    ],
    ['no messages', '{"model": "desk"}', 400, null],
    ['messages that are no objects', '{"model": "desk", "messages": [7]}', 400, null],
    ['a stream that is no flag', '{"model": "desk", "stream": "yes", "messages": []}', 400, null],
    ['a body over the limit', `{"model": "desk", "x": "${'x'.repeat(6_000)}"}`, 413, 'request_too_large'],
  ])('%s is refused in OpenAI format', async (_name, body, status, code) => {
    const answer = await fixture.post('/v1/chat/completions', body);
    expect([answer.status, answer.json['error'].code]).toEqual([status, code]);
    expect(answer.json['error']).toMatchObject({ message: expect.any(String), type: 'invalid_request_error' });
  });

  it('a body that is no UTF-8 or compressed is refused', async () => {
    const post = async (body: Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
      (await fetch(`${fixture.url}/v1/chat/completions`, { method: 'POST', body, headers })).status;
    const json = { 'content-type': 'application/json' };
    expect(await post(new Uint8Array([0x7b, 0xff, 0x7d]), json)).toBe(400);
    expect(await post(new Uint8Array([1]), { ...json, 'content-encoding': 'gzip' })).toBe(415);
  });

  it('an announced body over the limit is refused before it is sent, and so is what is no HTTP', async () => {
    expect(await raw(fixture, post(100_000_000))).toMatch(/^HTTP\/1.1 413 /);
    expect(await raw(fixture, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 .*"This is no HTTP request."/s);
  });

  it('other routes and methods are refused', async () => {
    expect((await fixture.get('/v1/chat/completions')).status).toBe(405);
    expect((await fixture.get('/nothing')).json['error'].code).toBe('unknown_route');
  });
});

test('a body that does not come in time is refused', async () => {
  const fixture = await new GatewayFixture().start({ config: { timeouts: { requestBodyMs: 200 } } });
  expect(await raw(fixture, `${post(10)}{`)).toMatch(/^HTTP\/1.1 408 /);
  await fixture.stop();
});

describe('keys and limits', () => {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({
      registry: { versions: [] },
      config: {
        keys: [
          { client: 'one', sha256: sha256(KEY), requestsPerMinute: 2 },
          { client: 'two', sha256: sha256('sk-two'), agents: [], concurrent: 1 },
          { client: 'three', sha256: sha256('sk-three'), concurrent: 1 },
        ],
      },
    }),
  );
  afterAll(() => fixture.stop());
  const chat = (key: string | null) => fixture.chat('hi', {}, key === null ? {} : { authorization: `Bearer ${key}` });

  it('a missing and a wrong key are refused, health needs none', async () => {
    expect((await chat(null)).json['error']).toMatchObject({ type: 'authentication_error', code: 'missing_api_key' });
    expect((await chat('sk-nobody')).json['error'].code).toBe('invalid_api_key');
    expect((await fixture.get('/v1/models')).status).toBe(401);
    expect((await fixture.get('/healthz')).status).toBe(200);
    expect((await fixture.get('/readyz')).json).toEqual({ status: 'ready' });
  });

  it('a monitor may ask with HEAD where others ask with GET', async () => {
    const head = async (path: string) => (await fetch(fixture.url + path, { method: 'HEAD' })).status;
    expect(await Promise.all(['/healthz', '/readyz', '/v1/models', '/v1/chat/completions'].map(head))).toEqual([
      200, 200, 401, 405,
    ]);
  });

  it('a client has its requests a minute', async () => {
    expect([(await chat(KEY)).status, (await chat(KEY)).status]).toEqual([200, 200]);
    const refused = await chat(KEY);
    expect([refused.status, refused.json['error'].code]).toEqual([429, 'rate_limit_exceeded']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(20);
  });

  it('a client may use its agents only', async () => {
    expect((await chat('sk-two')).json['error'].code).toBe('model_not_found');
    expect((await fixture.get('/v1/models', { authorization: 'Bearer sk-two' })).json['data']).toEqual([]);
  });

  it('a client has its requests in flight, and gets its place back', async () => {
    const replica = fixture.replicas[0]!;
    let answer: () => void = () => undefined;
    replica.behaviour = (_, response) => (
      (answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}')),
      true
    );
    const first = chat('sk-three');
    await fixture.until(() => replica.completions().some(() => true));
    await fixture.until(() => fixture.agent.replicas.all[0]!.inFlight > 0);
    expect((await chat('sk-three')).json['error'].code).toBe('concurrency_limit_exceeded');
    replica.behaviour = null;
    answer();
    expect((await first).status).toBe(200);
    expect((await chat('sk-three')).status).toBe(200);
  });
});
