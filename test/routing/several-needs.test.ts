// tier: unit
import { modelForLaterTurns } from '../../activities/evaluate/model-for-later-turns';
import { openRouter } from '../../routing/open-router';
import { fitVocabulary, openingVectors } from '../../routing/opening-features';
import { type Router, routerSchema } from '../../routing/kinds';

const vocabulary = fitVocabulary(['stamp weigh wrap', 'wrap stamp weigh', 'weigh wrap stamp', 'please']);
const needs = ['stamp', 'weigh', 'wrap'].map((capabilityId) => ({
  capabilityId,
  model: { bias: -2, weights: { positions: openingVectors(vocabulary)(capabilityId).positions, values: [12] } },
}));
const severalNeeds = { vocabulary, needs, threshold: 0.5 };
const laterTurns = { reads: 'user' as const, vocabulary, needs, threshold: 0.7 };
const router = (parts: object = { severalNeeds }): Router => ({
  kind: 'labels',
  leftOut: [],
  vocabulary,
  needs,
  ...parts,
});

describe('an opening with several needs', () => {
  it('gets the mixed adapter, as sure as its second need is', () => {
    const { choose } = openRouter(router());
    const both = choose('stamp it and weigh it', null);
    expect(both).toMatchObject({ capabilityId: 'mixed', reason: 'several-needs' });
    expect(both.probability).toBeGreaterThan(0.5);
    expect(choose('stamp it, weigh it, wrap it', null)).toMatchObject({ capabilityId: 'mixed' });
    expect(choose('stamp it', null)).toMatchObject({ capabilityId: 'stamp', reason: 'routed' });
    expect(choose('please', null)).toMatchObject({ capabilityId: 'none', reason: 'routed' });
  });

  it('gets the choice of the router in a version without that adapter, or with a router from before', () => {
    expect(openRouter(router(), ['stamp', 'weigh']).choose('stamp it and weigh it', null).reason).toBe('routed');
    const former = routerSchema.parse(router({}));
    expect(openRouter(former).choose('stamp it and weigh it', null).reason).toBe('routed');
  });

  it('does so although its conversation would otherwise begin with what is asked for first', () => {
    const following = { ...laterTurns, twoNeeds: { threshold: 0.5 } };
    const { choose } = openRouter(router({ severalNeeds, laterTurns: following }));
    expect(choose('weigh it and stamp it', null)).toMatchObject({ capabilityId: 'mixed', reason: 'several-needs' });
    // A version without the mixed adapter still begins with the first.
    const without = openRouter(router({ severalNeeds, laterTurns: following }), ['stamp', 'weigh']);
    expect(without.choose('weigh it and stamp it', null)).toMatchObject({ reason: 'first-of-two' });
  });
});

test('the reader of later messages is told which adapter a conversation began with', () => {
  const adapters = ['stamp', 'mixed'].map((capabilityId) => ({ capabilityId, name: `${capabilityId}@1` }));
  const unlessMixed = (_: unknown, opening: string) =>
    opening === 'mixed' ? null : { capabilityId: 'stamp', probability: 1, reason: 'later-turn' as const };
  expect(modelForLaterTurns(unlessMixed, adapters, 'base')([])).toBe('stamp@1');
  expect(modelForLaterTurns(unlessMixed, adapters, 'mixed@1')([])).toBe('mixed@1');
});
