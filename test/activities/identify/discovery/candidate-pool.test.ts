// tier: unit
import {
  candidateId,
  discoveryBatches,
  poolCandidates,
  selectCandidates,
} from '../../../../activities/identify/discovery/candidate-pool';
import { candidateSchema } from '../../../../contracts/artifacts/identification';

const batch = Array.from({ length: 50 }, (_, i) => ({ id: `t${i + 1}`, success: i === 49 }));
const named = (name: string, episodes: number[], description = `what ${name} is`) => ({
  name,
  summary: `needs ${name}`,
  description,
  episodes,
  notTrainable: null as string | null,
});

test.each([
  ['Verify the customer, before a refund!', 'verify-the-customer-before-a-refund'],
  ['Prüfung: état', 'pru-fung-e-tat'],
  [`${'long '.repeat(30)}`, expect.stringMatching(/^(long-)+lon?g?$/)],
  ['会员', expect.stringMatching(/^capability-[0-9a-f]{8}$/)],
])('the id of %j', (name, id) => {
  expect(candidateId(name)).toEqual(id);
  expect(candidateSchema.shape.id.safeParse(candidateId(name)).success).toBe(true);
});

test('names with the same id are one candidate: first wording, episodes of both', () => {
  let pool = poolCandidates([], { capabilities: [named('Check it', [1, 2], 'first'), named('Other', [1])] }, batch);
  pool = poolCandidates(pool, { capabilities: [named('check IT', [2, 3], 'second')] }, batch);
  expect(pool.map(({ id, description, episodes }) => [id, description, episodes])).toEqual([
    ['check-it', 'first', ['t1', 't2', 't3']],
    ['other', 'what Other is', ['t1']],
  ]);
});

test('an episode counts once and only when it was shown and failed', () => {
  const [candidate] = poolCandidates([], { capabilities: [named('A', [2, 2, 0, 51, -1, 50])] }, batch);
  expect(candidate?.episodes).toEqual(['t2']);
});

test('the first reason why a capability cannot be trained stays with it', () => {
  const claim = (reason: string | null) => ({ capabilities: [{ ...named('A', [1]), notTrainable: reason }] });
  let pool = poolCandidates([], claim(' '), batch);
  expect(selectCandidates(pool, 1)[0]).not.toHaveProperty('notTrainable');
  pool = poolCandidates(pool, claim('No tool gives the code.'), batch);
  pool = poolCandidates(pool, claim('Too hard.'), batch);
  expect(selectCandidates(pool, 1)[0]).toMatchObject({ notTrainable: 'No tool gives the code.' });
});

test('the most frequent are kept, ties by id, without the counts', () => {
  const pool = poolCandidates([], { capabilities: [named('C', [1]), named('B', [1, 2]), named('A', [1])] }, batch);
  expect(selectCandidates(pool, 2).map(({ id }) => id)).toEqual(['b', 'a']);
  expect(selectCandidates(pool, 2)[0]).not.toHaveProperty('episodes');
});

test('wordings that are too long are cut to what a candidate may be', () => {
  const pool = poolCandidates(
    [],
    {
      capabilities: [
        {
          ...named('n'.repeat(500), [1]),
          summary: 's'.repeat(500),
          description: 'd'.repeat(5000),
          notTrainable: 't'.repeat(5000),
        },
      ],
    },
    batch,
  );
  expect(() => candidateSchema.parse(selectCandidates(pool, 1)[0])).not.toThrow();
});

test('known capabilities come first where they were lacking, and last where nothing shows them', () => {
  const known = ['fixed', 'lacking'].map((id) => ({
    id,
    name: id,
    summary: id,
    description: id,
    episodes: [],
    known: true,
  }));
  const pool = poolCandidates(known, { capabilities: [named('Fresh', [1])] }, batch);
  expect(selectCandidates(pool, 3, ['lacking'], ['fixed']).map(({ id }) => id)).toEqual(['lacking', 'fresh', 'fixed']);
  expect(selectCandidates(pool, 2, ['lacking'], ['fixed']).map(({ id }) => id)).toEqual(['lacking', 'fresh']);
  const shown = poolCandidates(pool, { capabilities: [named('fixed', [2, 3])] }, batch);
  expect(selectCandidates(shown, 2, ['lacking'], ['fixed']).map(({ id }) => id)).toEqual(['lacking', 'fixed']);
});

describe('discovery batches', () => {
  const failures = Array.from({ length: 23 }, (_, i) => ({ id: `t${i}` }));

  test('show no failure twice', () => {
    const shown = discoveryBatches(failures, 1, 3, 10)
      .flat()
      .map(({ id }) => id);
    expect(new Set(shown).size).toBe(23);
    expect(discoveryBatches(failures, 1, 3, 10).map((batch) => batch.length)).toEqual([10, 10, 3]);
  });

  test('depend on seed and ids, not on the order of the trajectories', () => {
    expect(discoveryBatches([...failures].reverse(), 1, 2, 5)).toEqual(discoveryBatches(failures, 1, 2, 5));
    expect(discoveryBatches(failures, 2, 2, 5)).not.toEqual(discoveryBatches(failures, 1, 2, 5));
  });

  test('are none without failures', () => {
    expect(discoveryBatches([], 1, 4, 50)).toEqual([]);
  });
});
