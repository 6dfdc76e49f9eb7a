// tier: integration
import { setTimeout as sleep } from 'node:timers/promises';
import type { Router } from '../../routing/kinds';
import { layout, putJson } from '../../store';
import { adapterName, GatewayFixture, versionOf } from './gateway-fixture';

describe('routing of conversations', () => {
  let fixture: GatewayFixture;
  beforeEach(async () => {
    fixture = await new GatewayFixture().start({ registry: { versions: [versionOf(1, 'weigh', 'stamp')] } });
  });
  afterEach(() => fixture.stop());
  const replica = () => fixture.replicas[0]!;
  const route = (answer: Awaited<ReturnType<GatewayFixture['chat']>>) => [
    answer.headers.get('x-whet-adapter'),
    answer.headers.get('x-whet-route'),
  ];

  it('sends a conversation to the adapter that the base model names, in the words of the evaluation', async () => {
    const answer = await fixture.chat('need:stamp now');
    expect(answer.json['model']).toBe(adapterName('stamp', 1));
    expect(route(answer)).toEqual([adapterName('stamp', 1), 'routed']);
    expect(replica().routerCalls()[0]?.body).toMatchObject({
      model: 'desk-base',
      max_tokens: 1,
      temperature: 0,
      top_logprobs: 20,
      structured_outputs: { choice: ['A', 'B', 'C'] },
      messages: [
        {
          role: 'user',
          content:
            'Which skill does this task need?\nTask: need:stamp now\n' +
            'A: stamp the parcel\nB: weigh the parcel\nC: none of these\nAnswer:',
        },
      ],
    });
  });

  it('decides once: later turns follow the opening, also where their own words would go elsewhere', async () => {
    const first = { role: 'user', content: 'need:weigh' };
    await fixture.chat('need:weigh');
    const later = await fixture.post('/v1/chat/completions', {
      model: 'desk',
      messages: [first, { role: 'assistant', content: 'done' }, { role: 'user', content: 'need:stamp' }],
    });
    expect(route(later)).toEqual([adapterName('weigh', 1), 'routed; sticky']);
    expect(replica().routerCalls()).toHaveLength(1);
  });

  it("takes the client's word for what a conversation is", async () => {
    const headers = { 'x-whet-conversation': 'c-1' };
    const first = await fixture.chat('need:weigh', {}, headers);
    expect(first.headers.get('x-whet-conversation')).toBe('c-1');
    expect(route(await fixture.chat('need:stamp', {}, headers))).toEqual([adapterName('weigh', 1), 'routed; sticky']);
    expect((await fixture.chat('hi', {}, { 'x-whet-conversation': 'a b' })).json['error'].code).toBe(
      'invalid_conversation',
    );
  });

  it('asks once when several requests of one conversation come at the same time', async () => {
    replica().routerDelayMs = 40;
    const answers = await Promise.all([1, 2, 3].map(() => fixture.chat('need:weigh')));
    expect(answers.map((answer) => answer.json['model'])).toEqual(Array(3).fill(adapterName('weigh', 1)));
    expect(replica().routerCalls()).toHaveLength(1);
  });

  it('sends what needs none of the skills to base', async () => {
    expect(route(await fixture.chat('need:none'))).toEqual(['base', 'routed']);
  });

  it('goes to base when the router is over its budget or fails, and counts it', async () => {
    Object.assign(fixture.agent.settings.router, { timeoutMs: 60 });
    replica().behaviour = ({ body }) => body.structured_outputs !== undefined;
    expect(route(await fixture.chat('need:weigh slowly'))).toEqual(['base', 'router-timeout']);
    Object.assign(fixture.agent.settings.router, { timeoutMs: 60_000 });
    replica().behaviour = ({ body }, response) =>
      body.structured_outputs !== undefined && (response.writeHead(500).end('{}'), true);
    expect(route(await fixture.chat('need:weigh badly'))).toEqual(['base', 'router-failed']);
    const { text } = await fixture.get('/metrics');
    expect(text).toContain('whet_gateway_router_total{agent="desk",outcome="router-timeout"} 1');
    expect(text).toContain('whet_gateway_router_total{agent="desk",outcome="router-failed"} 1');
  });

  it('waits for a model server that is being restarted, instead of deciding for base', async () => {
    await replica().stop();
    await fixture.until(() => !fixture.agent.replicas.anyReady());
    const answer = fixture.chat('need:weigh during a restart');
    await sleep(100);
    await replica().start();
    expect(route(await answer)).toEqual([adapterName('weigh', 1), 'routed']);
  });

  it('asks again when the model server goes away while it is being asked and comes back', async () => {
    replica().behaviour = ({ body }, response) => {
      if (body.structured_outputs === undefined) return false;
      replica().behaviour = null;
      replica().adapters.clear();
      response.destroy();
      return true;
    };
    expect(route(await fixture.chat('need:weigh again'))).toEqual([adapterName('weigh', 1), 'routed']);
    expect(replica().adapters.size).toBe(2);
  });

  it('asks a server whose connections break twice, and no more', async () => {
    replica().behaviour = ({ body }, response) => body.structured_outputs !== undefined && (response.destroy(), true);
    expect(route(await fixture.chat('need:weigh in vain'))).toEqual(['base', 'router-failed']);
    expect(replica().routerCalls()).toHaveLength(2);
  });

  it('pins the base model and an adapter by name, without a call of the router', async () => {
    expect(route(await fixture.chat('need:weigh', { model: 'desk@base' }))).toEqual(['base', 'base']);
    expect(route(await fixture.chat('need:weigh', { model: adapterName('stamp', 1) }))).toEqual([
      adapterName('stamp', 1),
      'pinned',
    ]);
    expect(replica().routerCalls()).toHaveLength(0);
  });

  it('lists what can be asked for', async () => {
    const { json } = await fixture.get('/v1/models');
    expect(json['data'].map(({ id }: { id: string }) => id)).toEqual([
      'desk',
      'desk@base',
      adapterName('stamp', 1),
      adapterName('weigh', 1),
    ]);
  });
});

describe('a version with a calibrated router', () => {
  it('abstains below its threshold', async () => {
    const fixture = new GatewayFixture();
    const judged = versionOf(1, 'weigh', 'stamp');
    const router: Router = {
      kind: 'logits',
      leftOut: [],
      capabilities: judged.adapters.map(({ capabilityId, summary }) => ({ id: capabilityId, summary })),
      temperature: 2,
      threshold: 0.8,
    };
    const artifact = await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', router);
    await fixture.start({ registry: { versions: [{ ...judged, judgedRouter: { kind: 'logits', artifact } }] } });
    // 0.8 : 0.1 renormalises to 0.89; the square roots of both to 0.74.
    const answer = await fixture.chat('need:weigh');
    expect([answer.headers.get('x-whet-adapter'), answer.headers.get('x-whet-route')]).toEqual(['base', 'abstained']);
    await fixture.stop();
  });
});

test('an agent without a version is its base model', async () => {
  const fixture = await new GatewayFixture().start();
  const answer = await fixture.chat('need:weigh');
  expect([answer.json['model'], answer.headers.get('x-whet-route'), answer.headers.get('x-whet-version')]).toEqual([
    'desk-base',
    'no-version',
    'base',
  ]);
  await fixture.stop();
});
