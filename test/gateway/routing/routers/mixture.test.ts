// tier: integration
import { mergedAdapterName } from '../../../../gateway/routing/merged-adapter';
import { quantised, topSet } from '../../../../gateway/routing/routers/mixture';
import { adapterName, GatewayFixture, versionOf } from '../../gateway-fixture';
import { labelProbabilities } from './router-answers';

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
    fixture.replicas[0]!.behaviour = labelProbabilities({ A: 0.5, B: 0.45, C: 0.05 });
    const parts = ['stamp', 'weigh'].map((skill) => ({ adapter: adapterName(skill, 1), weight: 0.5 }));
    const first = await fixture.chat('both 1');
    expect([first.json['model'], first.headers.get('x-whet-route')]).toEqual([
      adapterName('stamp', 1),
      'mixture-pending',
    ]);
    await fixture.until(() => fixture.agent.replicas.all[0]!.routable.has(mergedAdapterName(parts)));
    const second = await fixture.chat('both 2');
    expect([second.json['model'], second.headers.get('x-whet-adapter')]).toEqual([
      mergedAdapterName(parts),
      mergedAdapterName(parts),
    ]);
    // One that is sure needs no merge.
    fixture.replicas[0]!.behaviour = labelProbabilities({ A: 0.97, B: 0.03 });
    expect((await fixture.chat('one')).json['model']).toBe(adapterName('stamp', 1));
    await fixture.stop();
  });
});
