// tier: unit
import { openRouter } from '../../routing/open-router';
import { openFirstOfTwo } from '../../routing/first-of-two';
import { fitVocabulary, openingVectors } from '../../routing/opening-features';
import { type Router, routerSchema } from '../../routing/kinds';

const vocabulary = fitVocabulary([
  'stamp weigh wrap',
  'wrap stamp weigh',
  'weigh wrap stamp',
  'please thanks',
  'please',
]);
const need = (capabilityId: string, word: string, weight = 12) => ({
  capabilityId,
  model: { bias: -2, weights: { positions: openingVectors(vocabulary)(word).positions, values: [weight] } },
});
const router = (parts: { leftOut?: string[]; twoNeeds?: { threshold: number } | undefined } = {}) => {
  const { leftOut = [], twoNeeds } = { twoNeeds: { threshold: 0.5 }, ...parts };
  // The router itself gives everything that is to be weighed to weighing.
  const needs = [need('stamping', 'stamp'), need('weighing', 'weigh', 14), need('wrapping', 'wrap')];
  return {
    kind: 'labels',
    leftOut,
    vocabulary,
    needs,
    laterTurns: { reads: 'user', vocabulary, needs, threshold: 0.7, ...(twoNeeds && { twoNeeds }) },
  } satisfies Router;
};
const arm = (text: string, ...parts: Parameters<typeof router>) => openRouter(router(...parts)).choose(text, null);

describe('an opening with two needs', () => {
  it('begins with the one that is asked for first, whichever is likelier', () => {
    expect(arm('stamp it and weigh it')).toMatchObject({ capabilityId: 'stamping', reason: 'first-of-two' });
    expect(arm('weigh it and stamp it')).toMatchObject({ capabilityId: 'weighing', reason: 'first-of-two' });
    expect(arm(`please ${'x '.repeat(500)} wrap it, then ${'y '.repeat(100)} stamp it`)).toMatchObject({
      capabilityId: 'wrapping',
    });
  });

  it('keeps the choice of the router where one need is asked for, or three, or none', () => {
    expect(arm('weigh it')).toMatchObject({ capabilityId: 'weighing', reason: 'routed' });
    expect(arm('please')).toMatchObject({ capabilityId: 'none', reason: 'routed' });
    expect(arm('stamp it, weigh it, wrap it')).toMatchObject({ capabilityId: 'weighing', reason: 'routed' });
  });

  it('keeps the choice of the router where one of the two has no adapter', () => {
    expect(arm('wrap it and stamp it', { leftOut: ['stamping'] })).not.toMatchObject({ reason: 'first-of-two' });
    const served = openRouter(router(), ['stamping', 'weighing']);
    expect(served.choose('wrap it and stamp it', null)).not.toMatchObject({ reason: 'first-of-two' });
    expect(served.choose('stamp it and weigh it', null)).toMatchObject({ reason: 'first-of-two' });
  });

  it('keeps the choice of a router that says nothing about two needs, as those from before', () => {
    const former = router({ twoNeeds: undefined });
    expect(openFirstOfTwo(routerSchema.parse(former))).toBeNull();
    expect(openFirstOfTwo({ kind: 'mixed', leftOut: [] })).toBeNull();
    expect(arm('stamp it and weigh it', { twoNeeds: undefined })).toMatchObject({ capabilityId: 'weighing' });
  });

  it('reads the beginning of a long opening only', () => {
    const long = `stamp it ${'very '.repeat(300)} carefully, and weigh it ${'really '.repeat(2_000)}`;
    expect(arm(long)).toMatchObject({ capabilityId: 'stamping', reason: 'first-of-two' });
    const far = `stamp it ${'very '.repeat(500)} carefully, and weigh it`;
    expect(arm(far)).not.toMatchObject({ reason: 'first-of-two' });
  });
});
