// tier: integration
import { changeRegistry, readRegistry, startCanary } from '../../../store';
import { adapterName, GatewayFixture, versionOf } from '../gateway-fixture';

describe('a canary', () => {
  let fixture: GatewayFixture;
  const canary = { id: 'c'.repeat(12), version: 2, share: 0.5, falseRollback: 0.05, startedAt: '2026-11-21T00:00:00Z' };
  beforeEach(async () => {
    fixture = await new GatewayFixture().start({
      registry: { versions: [versionOf(1, 'weigh'), versionOf(2, 'weigh')], active: 1 },
    });
  });
  afterEach(() => fixture.stop());

  const talk = async (name: string) => {
    const { headers, json } = await fixture.chat('need:weigh', {}, { 'x-whet-conversation': name });
    return {
      version: headers.get('x-whet-version'),
      route: headers.get('x-whet-route'),
      model: json['model'] as string,
    };
  };
  const post = (conversation: string, reward: unknown) => fixture.post('/v1/outcomes', { conversation, reward });
  const begin = async () => {
    await changeRegistry(fixture.store, 'desk', (registry) => startCanary(registry, canary));
    await fixture.until(
      () => fixture.agent.registry.canary !== undefined && fixture.agent.replicas.all[0]!.routable.size === 2,
    );
  };

  it('gets its share of new conversations and keeps them; the others stay where they are', async () => {
    await talk('old');
    await begin();
    expect((await talk('old')).version).toBe('1');
    const names = Array.from({ length: 60 }, (_, i) => `c${i}`);
    const first = await Promise.all(names.map(talk));
    const again = await Promise.all(names.map(talk));
    expect(again.map(({ version }) => version)).toEqual(first.map(({ version }) => version));
    const canaries = first.filter(({ version }) => version === '2');
    expect(canaries.length).toBeGreaterThan(15);
    expect(canaries.length).toBeLessThan(45);
    expect(canaries[0]).toEqual({ version: '2', route: 'routed; canary', model: adapterName('weigh', 2) });
  });

  it('is rolled back by the outcomes when it is worse, and its conversations move on', async () => {
    await begin();
    let rolledBackAfter = 0;
    for (let i = 0; i < 400 && rolledBackAfter === 0; i++) {
      const { version } = await talk(`c${i}`);
      expect((await post(`c${i}`, version === '2' ? 0.2 : 0.9)).json).toMatchObject({ counted: true });
      if ((await readRegistry(fixture.store, 'desk')).canary === undefined) rolledBackAfter = i;
    }
    expect(rolledBackAfter).toBeGreaterThan(5);
    const { lastCanary, active } = await readRegistry(fixture.store, 'desk');
    expect([active, lastCanary]).toMatchObject([
      1,
      { version: 2, outcome: 'rolled-back', reason: expect.stringContaining('Version 2 is worse: reward 20.0 %') },
    ]);
    await fixture.until(() => fixture.agent.registry.canary === undefined);
    for (let i = 0; i < 10; i++) expect((await talk(`c${i}`)).version).toBe('1');
  });

  it('counts a conversation once, knows only its own, and says what is wrong with an outcome', async () => {
    await talk('before');
    await begin();
    await talk('during');
    expect((await post('during', 1)).json).toEqual({
      object: 'outcome',
      agent: 'desk',
      conversation: 'during',
      counted: true,
      reason: null,
    });
    expect((await post('during', 0)).json['reason']).toBe('the conversation was counted before');
    expect((await post('before', 1)).json['reason']).toBe('the conversation began before the canary');
    expect((await post('nobody', 1)).json['reason']).toBe('the conversation is not known here');
    expect((await post('during', 7)).json['error']).toMatchObject({
      message: 'reward: 7 is not allowed. Allowed: at most 1.',
      param: 'reward',
    });
  });

  it('is judged by what all gateways have counted', async () => {
    await begin();
    const others = fixture.store.segment(`canary/desk/${canary.id}/another-gateway.jsonl`);
    for (let i = 0; i < 300; i++)
      await others.append({ conversation: `other ${i}`, arm: i % 2 ? 'canary' : 'active', reward: i % 2 ? 0.1 : 0.9 });
    await others.close();
    await fixture.until(async () => (await readRegistry(fixture.store, 'desk')).lastCanary?.outcome === 'rolled-back');
  });
});
