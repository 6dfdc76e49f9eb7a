// tier: unit
import type { PooledCandidate } from '../../../../activities/identify/discovery/candidate-pool';
import { mergeCandidates } from '../../../../activities/identify/discovery/merge-candidates';
import { mergeSchema } from '../../../../contracts/artifacts/identification';

const candidate = (id: string, episodes: string[], known = false): PooledCandidate => ({
  id,
  name: id,
  summary: id,
  description: `what ${id} is`,
  episodes,
  known,
});
const pool = [
  candidate('verify', ['a', 'b']),
  candidate('check-identity', ['b', 'c', 'd']),
  candidate('greet', ['e']),
  candidate('hello', [], true),
];

test('the same thing in other words becomes one with the episodes of both, and the merge is recorded', () => {
  const { pool: merged, merges } = mergeCandidates(pool, { groups: [{ members: [1, 2], reason: 'both verify' }] });
  expect(merged.map(({ id, episodes }) => [id, [...episodes].sort()])).toEqual([
    ['check-identity', ['a', 'b', 'c', 'd']],
    ['greet', ['e']],
    ['hello', []],
  ]);
  expect(merges).toEqual([
    { id: 'verify', name: 'verify', description: 'what verify is', into: 'check-identity', reason: 'both verify' },
  ]);
  expect(() => merges.forEach((merge) => mergeSchema.parse(merge))).not.toThrow();
});

test('what earlier runs know keeps its wording, however rarely it was named', () => {
  const { pool: merged, merges } = mergeCandidates(pool, { groups: [{ members: [3, 4], reason: 'same' }] });
  expect(merged.map(({ id }) => id)).toEqual(['verify', 'check-identity', 'hello']);
  expect(merges).toMatchObject([{ id: 'greet', into: 'hello' }]);
});

test.each([
  ['numbers outside the list', [{ members: [0, 1, 9], reason: '' }]],
  ['one member only', [{ members: [2, 2], reason: '' }]],
])('%s merge nothing', (_, groups) => {
  expect(mergeCandidates(pool, { groups })).toEqual({ pool, merges: [] });
});

test('a member belongs to the first group that names it', () => {
  const { pool: merged, merges } = mergeCandidates(pool, {
    groups: [
      { members: [1, 2], reason: 'first' },
      { members: [2, 3], reason: 'second' },
      { members: [1, 3, 4], reason: 'third' },
    ],
  });
  expect(merges.map(({ id, into }) => [id, into])).toEqual([
    ['verify', 'check-identity'],
    ['greet', 'hello'],
  ]);
  expect(merged.map(({ id }) => id)).toEqual(['check-identity', 'hello']);
});
