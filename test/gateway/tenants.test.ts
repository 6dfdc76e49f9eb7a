// tier: integration
import { createHash } from 'node:crypto';
import type { GatewayConfigInput } from '../../contracts/config/gateway-config';
import { GatewayFixture, versionOf } from './gateway-fixture';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const as = (client: string) => ({ authorization: `Bearer ${client}` });
const keys = (...clients: [name: string, agents?: string[]][]): Partial<GatewayConfigInput> => ({
  keys: clients.map(([client, agents]) => ({ client, sha256: sha256(client), ...(agents && { agents }) })),
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
