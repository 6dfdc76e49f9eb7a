// tier: unit
import { openRouter } from '../../routing/open-router';
import { fitVocabulary, openingVectors, sparseProduct } from '../../routing/opening-features';
import { neededAdapters, type Router, routerSchema } from '../../routing/kinds';

const OPENINGS = ['refund my order', 'refund the order', 'where is my order', 'where is the parcel'];
const vocabulary = fitVocabulary(OPENINGS);
const vectorOf = openingVectors(vocabulary);

describe('an opening as a vector', () => {
  it('keeps words and pairs that two openings have, as hashes, and has length 1', () => {
    // refund, my, order, the, where, is, "my order", "where is".
    expect(vocabulary.terms).toHaveLength(8);
    const vector = vectorOf('REFUND the unknown!');
    expect(vector.positions).toHaveLength(2);
    expect(Math.hypot(...vector.values)).toBeCloseTo(1);
    expect(sparseProduct(vector, vector)).toBeCloseTo(1);
  });

  it('is empty where nothing is known, and bounded where the text is long', () => {
    expect(vectorOf('xyz').positions).toEqual([]);
    expect(sparseProduct(vectorOf(''), vectorOf('refund'))).toBe(0);
    expect(vectorOf('refund '.repeat(1_000_000)).positions.length).toBeLessThan(3);
  });
});

describe('a router', () => {
  const refund = { bias: -1, weights: { positions: vectorOf('refund').positions, values: [4] } };

  it('mixed: gives everything to the mixed adapter, and to base where there is none', () => {
    const mixed: Router = { kind: 'mixed', leftOut: [] };
    expect(openRouter(mixed, ['mixed']).choose('refund', null)).toMatchObject({ capabilityId: 'mixed' });
    expect(openRouter(mixed, ['refunds']).choose('refund', null)).toMatchObject({
      capabilityId: 'none',
      reason: 'not-in-version',
    });
  });

  it('labels: serves a need that is more likely than not', () => {
    const { choose, menu } = openRouter({
      kind: 'labels',
      leftOut: [],
      vocabulary,
      needs: [{ capabilityId: 'refunds', model: refund }],
    });
    expect(menu).toBeNull();
    expect(choose('refund', null)).toMatchObject({ capabilityId: 'refunds', reason: 'routed' });
    expect(choose('where is my order', null)).toMatchObject({ capabilityId: 'none', reason: 'routed' });
  });

  it('sends what a left-out adapter would get to base', () => {
    const { choose } = openRouter({
      kind: 'labels',
      leftOut: ['refunds'],
      vocabulary,
      needs: [{ capabilityId: 'refunds', model: refund }],
    });
    expect(choose('refund', null)).toMatchObject({ capabilityId: 'none', reason: 'left-out' });
  });

  it('outcomes-mixed: the arm that is likeliest to pass, and base where an arm is not surely better', () => {
    const variances = (variance: number) => [...vocabulary.terms.map(() => variance), 0];
    const router = (variance: number, doubt: number): Router => ({
      kind: 'outcomes-mixed',
      leftOut: [],
      vocabulary,
      base: { bias: 0, weights: { positions: [], values: [] } },
      arms: [
        { capabilityId: 'refunds', model: refund, variances: variances(variance) },
        { capabilityId: 'other', model: { ...refund, bias: -2 }, variances: variances(0) },
      ],
      doubt,
      margin: 0.05,
    });
    const { choose } = openRouter(router(1, 1));
    expect(choose('refund', null)).toMatchObject({ capabilityId: 'refunds', reason: 'routed' });
    expect(choose('refund', null).probability).toBeCloseTo(1 / (1 + Math.exp(-3)));
    expect(choose('where is my order', null)).toEqual({ capabilityId: 'none', probability: 0.5, reason: 'routed' });
    // The likeliest arm is too uncertain, the next one is not.
    expect(openRouter(router(16, 1)).choose('refund', null).capabilityId).toBe('other');
    expect(openRouter({ ...router(16, 1), leftOut: ['other'] }).choose('refund', null)).toMatchObject({
      capabilityId: 'none',
      reason: 'left-out',
    });
    const single = { ...router(16, 1), arms: [{ capabilityId: 'refunds', model: refund, variances: variances(16) }] };
    expect(openRouter(single as Router).choose('refund', null)).toEqual({
      capabilityId: 'none',
      probability: 0.5,
      reason: 'abstained',
    });
    expect(openRouter({ ...single, doubt: 0 } as Router).choose('refund', null).capabilityId).toBe('refunds');
    expect(openRouter({ ...single, doubt: 0, margin: 0.5 } as Router).choose('refund', null)).toMatchObject({
      capabilityId: 'none',
      reason: 'routed',
    });
    // A word that no opening had says nothing.
    expect(choose('bonjour', null).capabilityId).toBe('none');
  });

  it('outcomes-mixed: the mixed adapter is an arm, and keeps openings with two needs', () => {
    const likely = (bias: number) => ({ model: { ...refund, bias }, variances: [...vocabulary.terms.map(() => 0), 0] });
    const needs = ['refunds', 'order'].map((capabilityId) => ({
      capabilityId,
      model: { bias: 3, weights: { positions: [], values: [] } },
    }));
    const router: Router = {
      ...{ kind: 'outcomes-mixed', leftOut: [], vocabulary, doubt: 0, margin: 0.05 },
      base: { bias: 0, weights: { positions: [], values: [] } },
      arms: [
        { capabilityId: 'refunds', ...likely(-2) },
        { capabilityId: 'mixed', ...likely(0) },
      ],
      laterTurns: { reads: 'user', vocabulary, needs, threshold: 0.7, twoNeeds: { threshold: 0.5 } },
    };
    expect(routerSchema.parse(router)).toEqual(router);
    expect(neededAdapters(router)).toEqual(['mixed', 'order', 'refunds']);
    const all = ['refunds', 'order', 'mixed'];
    expect(openRouter(router, all).choose('refund', null)).toMatchObject({ capabilityId: 'mixed', reason: 'routed' });
    // It gets none of the others, which begin with what they ask for first.
    expect(openRouter(router, all).choose('bonjour', null).reason).toBe('first-of-two');
    const withoutIt = openRouter({ ...router, leftOut: ['mixed'] }, ['refunds', 'order']).choose('refund', null);
    expect(withoutIt.reason).toBe('first-of-two');
    expect(neededAdapters({ ...router, leftOut: ['mixed'] })).toEqual(['order', 'refunds']);
    const { laterTurns: _moves, ...still } = router;
    expect(openRouter(still, ['refunds']).choose('refund', null)).toMatchObject({
      ...{ capabilityId: 'none', reason: 'not-in-version' },
    });
    expect(openRouter({ ...still, leftOut: ['mixed'] }).choose('refund', null).reason).toBe('left-out');
  });

  it('logits: abstains below its threshold, and cannot choose without the answer', () => {
    const { choose, menu } = openRouter({
      kind: 'logits',
      leftOut: [],
      capabilities: [{ id: 'refunds', summary: 'verify before a refund' }],
      temperature: 1,
      threshold: 0.7,
    });
    expect(menu).toEqual([{ id: 'refunds', summary: 'verify before a refund' }]);
    const answer = { seed: 0, capabilityId: 'refunds', probabilities: [0.6, 0.4], coveredMass: 1 };
    expect(choose('', answer)).toEqual({ capabilityId: 'none', probability: 0.6, reason: 'abstained' });
    expect(() => choose('', null)).toThrow('needs the answer');
  });

  it('is refused where a field is unknown or a kind is missing', () => {
    expect(routerSchema.safeParse({ kind: 'base', leftOut: [], more: 1 }).success).toBe(false);
    expect(routerSchema.safeParse({ leftOut: [] }).success).toBe(false);
  });
});
