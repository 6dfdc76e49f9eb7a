// tier: integration
import { lexicalEmbed } from '../../gateway/routing/embed';
import { mixtureName, quantised, topSet } from '../../gateway/routing/routers/mixture';
import { layout, putLines } from '../../store';
import { send, type SeenRequest } from '../fakes/replica';
import { adapterName, GatewayFixture, versionOf } from './gateway-fixture';

/** Answers the router with these probabilities, by label. */
const labels =
  (shares: Record<string, number>) =>
  ({ body }: SeenRequest, response: Parameters<typeof send>[0]): boolean => {
    if (body.structured_outputs === undefined) return false;
    const top = Object.entries(shares).map(([token, share]) => ({ token, logprob: Math.log(share) }));
    send(response, 200, {
      choices: [{ message: { content: top[0]?.token }, logprobs: { content: [{ top_logprobs: top }] } }],
    });
    return true;
  };

describe('the router shortlist', () => {
  const trajectory = (seed: number, model: string, task: string, success: boolean) => ({
    id: seed.toString(16).padStart(64, '0'),
    task: { seed, split: 'held-out' },
    trial: 0,
    model,
    samplingSeed: 0,
    messages: [{ role: 'user', content: task }],
    reward: success ? 1 : 0,
    success,
    finish: 'done',
    steps: 1,
    usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
    logprob: null,
    tags: [],
    diagnostics: {},
  });

  it('asks only about the capabilities of similar successes', async () => {
    const fixture = new GatewayFixture();
    const texts = {
      weigh: 'how heavy is the parcel in grams',
      stamp: 'put postage on the letter please',
      seal: 'close the envelope with wax',
    };
    const folder = layout.evaluation('run-1');
    await putLines(fixture.store, folder, 'arm-base.jsonl', []);
    let seed = 0;
    for (const [skill, text] of Object.entries(texts)) {
      const lines = Array.from({ length: 4 }, (_, i) => trajectory(seed++, skill, `${text} ${i}`, true));
      await putLines(fixture.store, folder, `arm-${skill}-111111111111.jsonl`, lines);
    }
    const router = { kind: 'shortlist' as const, neighbours: 3 };
    await fixture.start({ registry: { versions: [versionOf(1, 'weigh', 'stamp', 'seal')] }, agent: { router } });
    fixture.replicas[0]!.behaviour = labels({ A: 0.9, B: 0.1 });
    // The version's examples are read in the background.
    let answer = await fixture.chat('the parcel, how heavy in grams? 0');
    await fixture.until(async () => {
      answer = await fixture.chat(`the parcel, how heavy in grams? ${fixture.replicas[0]!.routerCalls().length}`);
      return fixture.replicas[0]!.routerCalls().at(-1)!.body.messages![0]!.content.split('\n').length === 5;
    });
    expect(answer.json['model']).toBe(adapterName('weigh', 1));
    expect(fixture.replicas[0]!.routerCalls().at(-1)?.body.messages?.[0]?.content).toContain(
      '\nA: weigh the parcel\nB: none of these\nAnswer:',
    );
    await fixture.stop();
  });

  it('asks about all where there are no examples', async () => {
    const fixture = await new GatewayFixture().start({
      registry: { versions: [versionOf(1, 'weigh', 'stamp')] },
      agent: { router: { kind: 'shortlist' } },
    });
    expect((await fixture.chat('need:stamp')).json['model']).toBe(adapterName('stamp', 1));
    await fixture.stop();
  });

  it('compares words without a model', async () => {
    const [a, b, c] = await lexicalEmbed(
      ['refund order 7 please', 'please refund the order 9', 'what is the weather'],
      AbortSignal.timeout(1_000),
    );
    const similarity = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * y[i]!, 0);
    expect(similarity(a!, b!)).toBeGreaterThan(similarity(a!, c!) + 0.2);
    expect(similarity(a!, a!)).toBeCloseTo(1);
  });
});

describe('the router mixture', () => {
  it('takes the smallest set with enough probability, in quarters', () => {
    const shares = [
      { capabilityId: 'a', share: 0.55 },
      { capabilityId: 'b', share: 0.3 },
      { capabilityId: 'none', share: 0.1 },
      { capabilityId: 'c', share: 0.05 },
    ];
    expect(topSet(shares, 0.9).map(({ capabilityId }) => capabilityId)).toEqual(['a', 'b']);
    expect(topSet(shares, 0.5).map(({ capabilityId }) => capabilityId)).toEqual(['a']);
    expect(quantised(topSet(shares, 0.9))).toEqual([
      { capabilityId: 'a', weight: 0.75 },
      { capabilityId: 'b', weight: 0.25 },
    ]);
  });

  it('has the merge made at the model servers and sends the next conversation there', async () => {
    const fixture = await new GatewayFixture().start({
      registry: { versions: [versionOf(1, 'stamp', 'weigh')] },
      agent: { router: { kind: 'mixture' } },
    });
    fixture.replicas[0]!.behaviour = labels({ A: 0.5, B: 0.45, C: 0.05 });
    const parts = ['stamp', 'weigh'].map((skill) => ({ adapter: adapterName(skill, 1), weight: 0.5 }));
    const first = await fixture.chat('both 1');
    expect([first.json['model'], first.headers.get('x-whet-route')]).toEqual([
      adapterName('stamp', 1),
      'mixture-pending',
    ]);
    await fixture.until(() => fixture.agent.replicas.all[0]!.routable.has(mixtureName(parts)));
    const second = await fixture.chat('both 2');
    expect([second.json['model'], second.headers.get('x-whet-adapter')]).toEqual([
      mixtureName(parts),
      mixtureName(parts),
    ]);
    // One that is sure needs no merge.
    fixture.replicas[0]!.behaviour = labels({ A: 0.97, B: 0.03 });
    expect((await fixture.chat('one')).json['model']).toBe(adapterName('stamp', 1));
    await fixture.stop();
  });
});
