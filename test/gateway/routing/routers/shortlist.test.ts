// tier: integration
import { layout, putLines } from '../../../../store';
import { adapterName, GatewayFixture, versionOf } from '../../gateway-fixture';
import { labelProbabilities } from './router-answers';

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
    fixture.replicas[0]!.behaviour = labelProbabilities({ A: 0.9, B: 0.1 });
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
});
