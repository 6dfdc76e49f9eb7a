// tier: integration
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { adapterName, GatewayFixture, versionOf } from './gateway-fixture';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const registry = { versions: [versionOf(1, 'weigh')] };
const MESSAGES = '"messages":[{"role":"user","content":"need:weigh"}]';

/** Sends bytes and resolves with everything that came back when the connection has ended. */
function raw(url: string, ...pieces: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () =>
      pieces.forEach((piece) => socket.write(piece)),
    );
    let text = '';
    socket.on('data', (data) => (text += data.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}

describe('a request that names its model in an odd way', () => {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ registry }));
  afterAll(() => fixture.stop());

  it.each([
    ['plainly, then in escapes', `{"model":"desk","\\u006dodel":"desk",${MESSAGES}}`],
    ['in escapes, then plainly', `{"\\u006Dodel":"desk-base","model":"desk",${MESSAGES}}`],
    ['in escapes, as no string', `{"mode\\u006c":5,"model":"desk",${MESSAGES}}`],
    ['far from each other', `{"model":"desk",${MESSAGES},"x":"${'y'.repeat(9_000)}","m\\u006fdel":"desk"}`],
    ['twice, once as no string', `{"model":[],"model":"desk",${MESSAGES}}`],
  ])('is forwarded as it was read: %s', async (_name, body) => {
    const [replica] = fixture.agent.replicas.all;
    const { epoch } = replica!;
    expect((await fixture.post('/v1/chat/completions', body)).json['model']).toBe(adapterName('weigh', 1));
    const { text } = fixture.replicas[0]!.completions().at(-1)!;
    expect([...text.matchAll(/"(?:m|\\u006[dD])(?:o|\\u006f)d(?:e)(?:l|\\u006c)":/g)]).toHaveLength(1);
    expect([replica!.ready, replica!.epoch]).toEqual([true, epoch]);
  });
});

describe('a model server that answers one request in an odd way stays ready', () => {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ registry, config: { timeouts: { replicaMs: 60_000 } } }));
  afterAll(() => fixture.stop());
  afterEach(() => (fixture.replicas[0]!.behaviour = null));

  it.each([
    ['with a 404', false],
    ['by closing the connection', true],
  ])('%s', async (_name, closes) => {
    const replica = fixture.agent.replicas.all[0]!;
    const { epoch } = replica;
    fixture.replicas[0]!.behaviour = ({ text }, response) => {
      if (!text.includes('odd')) return false;
      if (closes) response.destroy();
      else
        response.writeHead(404).end('{"error":{"message":"The model `x` does not exist.","code":"model_not_found"}}');
      return true;
    };
    const odd = await fixture.chat('odd');
    expect(odd.status).toBeGreaterThanOrEqual(closes ? 502 : 200);
    expect([replica.ready, replica.epoch, replica.routable.size]).toEqual([true, epoch, 1]);
    expect((await fixture.chat('need:weigh')).json['model']).toBe(adapterName('weigh', 1));
  });

  it('but one that was restarted and has lost its adapter gets them back before it gets traffic', async () => {
    const replica = fixture.agent.replicas.all[0]!;
    const { epoch } = replica;
    fixture.replicas[0]!.adapters.clear();
    expect((await fixture.chat('need:weigh again')).json['model']).toBe(adapterName('weigh', 1));
    expect(replica.epoch).toBeGreaterThan(epoch);
  });
});

describe('bodies that take more than they seem to', () => {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ registry }));
  afterAll(() => fixture.stop());
  const post = (body: string, path = '/v1/chat/completions') => fixture.post(path, body);

  it.each([
    ['lists', `{"model":"desk",${MESSAGES},"x":[${'[],'.repeat(600_000)}[]]}`, 'too_many_values'],
    ['objects', `{"model":"desk",${MESSAGES},"x":[${'{},'.repeat(300_000)}{}]}`, 'too_many_values'],
    ['strings', `{"model":"desk",${MESSAGES},"x":[${'"",'.repeat(300_000)}""]}`, 'too_many_values'],
    ['lists in a small body', `{"model":"desk",${MESSAGES},"x":[${'[],'.repeat(60_000)}[]]}`, 'too_many_values'],
    ['depth', `{"model":"desk",${MESSAGES},"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 'invalid_json'],
    [
      'a deep content',
      `{"model":"desk","messages":[{"content":${'['.repeat(9e4)}${']'.repeat(9e4)}}]}`,
      'invalid_json',
    ],
    ['a deep stream', `{"model":"desk",${MESSAGES},"stream":${'['.repeat(9e4)}${']'.repeat(9e4)}}`, 'invalid_json'],
    ['a deep model', `{"model":${'['.repeat(9e4)}${']'.repeat(9e4)}}`, 'invalid_json'],
  ])('are refused: %s', async (_name, body, code) => {
    const answer = await post(body);
    expect([answer.status, answer.json['error'].code]).toEqual([400, code]);
    expect(fixture.errors).toEqual([]);
  });

  it('a deep outcome is refused, and one of more than a few kilobytes', async () => {
    expect((await post(`${'['.repeat(3_000)}${']'.repeat(3_000)}`, '/v1/outcomes')).status).toBe(400);
    expect((await post(`{"x":${'['.repeat(3_000)}${']'.repeat(3_000)}}`, '/v1/outcomes')).status).toBe(400);
    expect((await post(`{"x":"${'y'.repeat(10_000)}"}`, '/v1/outcomes')).status).toBe(413);
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect((await post(`{"conversation":${deep},"reward":1}`, '/v1/outcomes')).status).toBe(413);
    expect(fixture.errors).toEqual([]);
  });

  it('a text of the same size is answered', async () => {
    const text = 'what, [really]? "{}" '.repeat(100_000);
    expect((await fixture.chat(text)).status).toBe(200);
  });
});

describe('memory', () => {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({ registry, agent: { traces: { sample: 1 } }, config: { limits: { openBytes: 5_000_000 } } }),
  );
  afterAll(() => fixture.stop());

  it('kept traces take the memory that they count', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = async () => {
      // Memory outside the heap is given back after the collection that finds it.
      for (let i = 0; i < 3; i++) {
        collect();
        await new Promise((resolve) => setImmediate(resolve));
      }
      const { heapUsed, external, arrayBuffers } = process.memoryUsage();
      return heapUsed + Math.max(external, arrayBuffers);
    };
    // Parsed, these take four times as much as their text: each has a string of its own.
    const content = Array.from({ length: 6_000 }, (_, place) => ({ text: `é${place}` }));
    const body = { model: 'desk@base', messages: [{ role: 'user', content }] };
    const size = Buffer.byteLength(JSON.stringify(body));
    const keep = async (from: number, to: number) => {
      for (let i = from; i < to; i++) {
        const headers = { 'x-whet-conversation': `many-${i}` };
        expect((await fixture.post('/v1/chat/completions', body, headers)).status).toBe(200);
        // The fake model server remembers what it was asked.
        fixture.replicas[0]!.requests.length = 0;
      }
    };
    await keep(0, 20);
    const before = await used();
    await keep(20, 120);
    expect((await used()) - before).toBeLessThan(2 * 100 * size);
  });

  it('a crowd of large bodies is refused before it takes the memory', async () => {
    const replica = fixture.replicas[0]!;
    replica.behaviour = () => true;
    const stop = new AbortController();
    const body = { model: 'desk@base', messages: [{ role: 'user', content: 'x'.repeat(900_000) }] };
    const open = Array.from({ length: 3 }, () => fixture.post('/v1/chat/completions', body, {}, stop.signal));
    open.forEach((answer) => answer.catch(() => undefined));
    const count = replica.completions().length;
    await fixture.until(() => replica.completions().length >= count + 3);
    const refused = await fixture.post('/v1/chat/completions', body);
    expect([refused.status, refused.json['error'].code, refused.headers.get('retry-after')]).toEqual([
      503,
      'overloaded',
      '1',
    ]);
    stop.abort();
    replica.behaviour = null;
    await fixture.until(async () => (await fixture.post('/v1/chat/completions', body)).status === 200);
  });
});

describe('refused requests', () => {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({ registry, config: { keys: [{ client: 'one', sha256: sha256('k'), requestsPerMinute: 3 }] } }),
  );
  afterAll(() => fixture.stop());

  it('do not hold their connections when their bodies never come', async () => {
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\n';
    const answers = await Promise.all([
      raw(fixture.url, `${head}\r\n`, '{'),
      raw(fixture.url, `${head.replace('completions', 'nothing')}\r\n`, '{'),
      raw(fixture.url, `${head}authorization: Bearer k\r\ncontent-type: text/plain\r\n\r\n`, '{'),
    ]);
    expect(answers.map((text) => text.slice(9, 12))).toEqual(['401', '404', '415']);
  });

  it('posted outcomes have a limit, too', async () => {
    const headers = { authorization: 'Bearer k' };
    const post = () => fixture.post('/v1/outcomes', { conversation: 'c', reward: 1 }, headers);
    expect([(await post()).status, (await post()).status, (await post()).status, (await post()).status]).toEqual([
      200, 200, 200, 429,
    ]);
  });

  it('metrics and what is missing are not for clients', async () => {
    expect((await fixture.get('/metrics')).status).toBe(404);
    fixture.gateway.draining = true;
    expect((await fixture.get('/readyz')).json).toEqual({ status: 'not ready' });
    fixture.gateway.draining = false;
  });
});

describe('outcomes', () => {
  const fixture = new GatewayFixture();
  beforeAll(() => fixture.start({ registry, secondAgent: 'till' }));
  afterAll(() => fixture.stop());

  it('belong to the agent that they name', async () => {
    const headers = { 'x-whet-conversation': 'c-1' };
    await fixture.chat('hello', {}, headers);
    const outcome = { conversation: 'c-1', reward: 1 };
    expect((await fixture.post('/v1/outcomes', outcome)).json['agent']).toBe('desk');
    await fixture.chat('hello', { model: 'till' }, headers);
    const refused = await fixture.post('/v1/outcomes', outcome);
    expect([refused.status, refused.json['error'].param]).toEqual([400, 'agent']);
    expect((await fixture.post('/v1/outcomes', { ...outcome, agent: 'till' })).json['agent']).toBe('till');
    expect((await fixture.post('/v1/outcomes', { ...outcome, agent: 'none' })).json['counted']).toBe(false);
  });
});

describe('a gateway on a loopback address without keys', () => {
  const fixture = new GatewayFixture();
  beforeAll(() =>
    fixture.start({ registry, config: { allowedHosts: ['gateway.internal'], admin: { host: '127.0.0.1', port: 0 } } }),
  );
  afterAll(() => fixture.stop());

  it.each([
    ['another site', 403, { origin: 'https://evil.example' }],
    ['a page without a site', 403, { origin: 'null' }],
    ['another name', 403, { host: 'evil.example:8400' }],
    ['another name, same site', 403, { host: 'evil.example', origin: 'http://evil.example' }],
    ['a simple request', 415, { 'content-type': 'text/plain' }],
    ['a request without a type', 415, { 'content-type': '' }],
    ['a page of this machine', 200, { origin: 'http://localhost:3000' }],
    ['an allowed name', 200, { host: 'gateway.internal', origin: 'https://gateway.internal' }],
    ['JSON with its encoding', 200, { 'content-type': 'application/json; charset=utf-8' }],
    ['an address', 200, { host: '[::1]:8400' }],
  ])('asked by %s: %s', async (_name, status, headers: Record<string, string>) => {
    for (const [path, body] of [
      ['/v1/chat/completions', `{"model":"desk",${MESSAGES}}`],
      ['/v1/outcomes', '{"conversation":"c","reward":1}'],
    ] as const) {
      const lines = Object.entries({ 'content-type': 'application/json', host: 'localhost', ...headers })
        .filter(([, value]) => value !== '')
        .map(([name, value]) => `${name}: ${value}\r\n`);
      const length = `content-length: ${body.length}\r\nconnection: close\r\n`;
      const answer = await raw(fixture.url, `POST ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n${body}`);
      expect(answer.slice(9, 12)).toBe(String(status));
    }
  });

  it('answers operators on a port of their own', async () => {
    expect((await fixture.get('/metrics')).status).toBe(404);
    expect(await (await fetch(`${fixture.adminUrl}/metrics`)).text()).toContain('whet_gateway_replica_ready');
    expect((await fetch(`${fixture.adminUrl}/readyz`)).status).toBe(200);
    expect((await fetch(`${fixture.adminUrl}/v1/models`)).status).toBe(404);
  });
});

describe('a gateway that is told to stop', () => {
  it('is not ready, goes on serving, and only then closes', async () => {
    const fixture = await new GatewayFixture().start({ registry });
    const hurry = new AbortController();
    const stopped = fixture.server.drain(1_000, 3_600_000, hurry.signal);
    expect((await fixture.get('/readyz')).status).toBe(503);
    const answer = await fixture.chat('need:weigh');
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    hurry.abort();
    expect(await stopped).toBe(0);
    await expect(fixture.get('/readyz')).rejects.toThrow();
    await fixture.stop();
  });
});
