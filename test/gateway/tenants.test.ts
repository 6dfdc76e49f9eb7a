// tier: integration
import { createHash } from 'node:crypto';
import type { GatewayConfigInput } from '../../contracts/config/gateway-config';
import { layout } from '../../store';
import { adapterName, GatewayFixture, versionOf } from './gateway-fixture';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const as = (client: string) => ({ authorization: `Bearer ${client}` });
const keys = (...clients: [name: string, agents?: string[]][]): Partial<GatewayConfigInput> => ({
  keys: clients.map(([client, agents]) => ({ client, sha256: sha256(client), ...(agents && { agents }) })),
});

describe('agents of several clients at the same model servers', () => {
  const fixture = new GatewayFixture();
  beforeAll(async () => {
    await fixture.store.swapDocument(
      layout.registry('till'),
      { agent: 'till', active: 2, versions: [versionOf(2, 'count')] },
      null,
    );
    await fixture.start({
      registry: { versions: [versionOf(1, 'weigh')] },
      secondAgent: 'till',
      config: keys(['shop', ['desk']], ['bank', ['till']], ['both'], ['none', []]),
    });
    await fixture.until(() => fixture.gateway.agents.get('till')!.replicas.all[0]!.routable.size === 2);
  });
  afterAll(() => fixture.stop());

  const DESK = ['desk', 'desk@base', adapterName('weigh', 1)];
  const TILL = ['till', 'till@base', adapterName('count', 2)];
  it.each([
    ['shop', DESK],
    ['bank', TILL],
    ['both', [...DESK, ...TILL]],
    ['none', []],
  ])('%s sees its models only', async (client, names) => {
    const { json } = await fixture.get('/v1/models', as(client));
    expect(json['data'].map(({ id }: { id: string }) => id)).toEqual(names);
    const { text } = await fixture.get('/openapi.json', as(client));
    for (const agent of ['desk', 'till']) expect(text.includes(`"${agent}"`)).toBe(names.includes(agent));
  });

  it('whoever has no key sees no names, and a wrong key is refused', async () => {
    const { status, text } = await fixture.get('/openapi.json');
    expect([status, /desk|till/.test(text)]).toEqual([200, false]);
    expect((await fixture.get('/openapi.json', as('nobody'))).status).toBe(401);
  });

  it.each(['till', 'till@base', adapterName('count', 2)])(
    '%s is refused without a word about its agent',
    async (model) => {
      const { status, json } = await fixture.chat('hi', { model }, as('shop'));
      const unknown = await fixture.chat('hi', { model: 'nobody' }, as('shop'));
      expect([status, json['error'].code]).toEqual([404, 'model_not_found']);
      expect(json['error'].message).toBe(unknown.json['error'].message.replace('"nobody"', JSON.stringify(model)));
    },
  );

  it('a request id that another request under way has reaches no model server', async () => {
    const replica = fixture.replicas[0]!;
    replica.requests.length = 0;
    let answer: () => void = () => undefined;
    replica.behaviour = (_, response) => {
      answer = () => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      return true;
    };
    const ask = (client: string, model: string) =>
      fixture.chat('hi', { model }, { ...as(client), 'x-request-id': 'r-1' });
    const first = ask('shop', 'desk@base');
    await fixture.until(() => replica.completions().length === 1);
    const answerFirst = answer;
    const second = ask('bank', 'till@base');
    await fixture.until(() => replica.completions().length === 2);
    answer();
    answerFirst();
    await Promise.all([first, second]);
    replica.behaviour = null;
    await ask('bank', 'till@base');
    expect(replica.completions().map(({ headers }) => headers['x-request-id'])).toEqual(['r-1', undefined, 'r-1']);
  });
});

test('agents that share an adapter: a client of either may name it', async () => {
  const fixture = new GatewayFixture();
  const versions = [versionOf(1, 'weigh')];
  await fixture.store.swapDocument(layout.registry('till'), { agent: 'till', active: 1, versions }, null);
  await fixture.start({
    registry: { versions },
    secondAgent: 'till',
    config: keys(['shop', ['desk']], ['bank', ['till']]),
  });
  await fixture.until(() => fixture.gateway.agents.get('till')!.known);
  for (const client of ['shop', 'bank'])
    expect((await fixture.chat('hi', { model: adapterName('weigh', 1) }, as(client))).status).toBe(200);
  await fixture.stop();
});

test('what one request asks for is bounded, and counts as so many requests', async () => {
  const hash = sha256('shop');
  const fixture = await new GatewayFixture().start({
    config: { keys: [{ client: 'shop', sha256: hash, requestsPerMinute: 2 }], limits: { choices: 4 } },
  });
  const ask = async (more: object) => {
    const { status, json } = await fixture.chat('hi', { model: 'desk@base', ...more }, as('shop'));
    return [status, json['error']?.param ?? json['error']?.code, json['error']?.message];
  };
  expect(await ask({ n: 5 })).toEqual([400, 'n', expect.any(String)]);
  // Waiting would not help.
  const tooMany = 'The request asks for 3 answers; client shop has 2 a minute.';
  expect(await ask({ n: 3 })).toEqual([400, 'too_many_answers', tooMany]);
  expect(await ask({ n: 2 })).toEqual([429, 'rate_limit_exceeded', expect.any(String)]);
  expect(fixture.replicas[0]!.completions()).toEqual([]);
  await fixture.stop();
});

describe('what is kept for clients', () => {
  let fixture: GatewayFixture;
  afterEach(() => fixture.stop());
  const start = async (config: Partial<GatewayConfigInput> = {}) => {
    fixture = await new GatewayFixture().start({
      agent: { traces: { sample: 1 } },
      registry: { versions: [versionOf(1, 'weigh')] },
      config: { ...keys(['a'], ['b']), admin: { host: '127.0.0.1', port: 0 }, ...config },
    });
  };
  const metrics = async () => (await fetch(`${fixture.adminUrl}/metrics`)).text();
  const chat = (client: string, conversation: string, content: string) =>
    fixture.chat(content, { model: 'desk' }, { ...as(client), 'x-whet-conversation': conversation });

  it('large conversations of one client drop none of another', async () => {
    await start();
    for (let i = 0; i < 10; i++) await chat('b', `b-${i}`, 'hello');
    const large = 'x'.repeat(9_000_000);
    for (let i = 0; i < 8; i++) {
      expect((await chat('a', `a-${i}`, large)).status).toBe(200);
      fixture.replicas[0]!.requests.length = 0;
    }
    for (let i = 0; i < 10; i++) await fixture.post('/v1/outcomes', { conversation: `b-${i}`, reward: 1 }, as('b'));
    const text = await metrics();
    expect(text).toContain('whet_gateway_traces_total{agent="desk",result="written"} 10');
    expect(text).toMatch(/whet_gateway_traces_total\{agent="desk",result="dropped"\} [1-9]/);
    expect(text).toMatch(/whet_gateway_dropped_total\{what="conversation",client="a"\} [1-9]/);
    expect(text).not.toContain('what="conversation",client="b"');
  });

  it('many conversations of one client drop no decision of another', async () => {
    await start({ limits: { conversations: 20 } });
    for (let i = 0; i < 5; i++) await chat('b', `b-${i}`, `need:weigh ${i}`);
    for (let i = 0; i < 40; i++) await chat('a', `a-${i}`, `need:weigh ${i}`);
    for (let i = 0; i < 5; i++)
      expect((await chat('b', `b-${i}`, `need:weigh ${i}`)).headers.get('x-whet-route')).toContain('sticky');
    const text = await metrics();
    expect(text).toContain('whet_gateway_dropped_total{what="decision",client="a"} 25');
    expect(text).not.toContain('what="decision",client="b"');
    expect(text).toContain('whet_gateway_conversations 20');
  });

  it('an outcome is answered when its trace is in the store', async () => {
    await start();
    await chat('a', 'a-1', 'hello');
    await fixture.post('/v1/outcomes', { conversation: 'a-1', reward: 1 }, as('a'));
    const day = `traces/desk/${new Date().toISOString().slice(0, 10)}`;
    expect(await fixture.store.list(day)).toHaveLength(1);
  });
});
