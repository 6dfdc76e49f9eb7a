// tier: unit
import { inReadingOrder } from '../../../activities/calibrate/rollouts-to-read';
import type { RolloutToRead } from '../../../contracts/artifacts/second-reading';

const rollout = (source: RolloutToRead['source'], paid: boolean, seed: number, text = ''): RolloutToRead => ({
  ...{ source, change: null, seed, callsForIt: null, reward: paid ? 1 : 0, paid },
  messages: [{ role: 'user', content: `${source} ${paid} ${seed} ${text}` }],
});
const kinds = [
  ['base', true],
  ['base', false],
  ['reference', true],
  ['changed', true],
  ['changed', false],
] as const;
const many = kinds.flatMap(([source, paid]) => Array.from({ length: 20 }, (_, seed) => rollout(source, paid, seed)));
const counts = (rollouts: readonly RolloutToRead[]) =>
  kinds.map(([source, paid]) => rollouts.filter((one) => one.source === source && one.paid === paid).length);

test('every beginning is balanced between those who acted, and between paid and not', () => {
  const order = inReadingOrder(many, 'a');
  expect(counts(order.slice(0, 6))).toEqual([1, 1, 2, 1, 1]);
  expect(counts(order.slice(0, 18))).toEqual([3, 3, 6, 3, 3]);
  expect(order).toHaveLength(100);
});

test('a kind that is used up leaves its place to the others', () => {
  const order = inReadingOrder([...many.slice(0, 21), ...many.slice(40, 60)], 'a');
  expect(counts(order)).toEqual([20, 1, 20, 0, 0]);
  expect(counts(order.slice(0, 5))).toEqual([2, 1, 2, 0, 0]);
});

test('the source decides the draw, the same conversation is read once, and other tasks come first', () => {
  const seeds = (sha256: string) => inReadingOrder(many, sha256).map(({ seed }) => seed);
  expect(seeds('a')).toEqual(seeds('a'));
  expect(seeds('a')).not.toEqual(seeds('b'));
  expect(inReadingOrder([...many, ...many], 'a')).toHaveLength(100);
  const two = [rollout('base', true, 1, 'x'), rollout('base', true, 1, 'y'), rollout('base', true, 2)];
  expect(
    inReadingOrder(two, 'a')
      .map(({ seed }) => seed)
      .sort(),
  ).toEqual([1, 1, 2]);
  expect(
    new Set(
      inReadingOrder(two, 'a')
        .slice(0, 2)
        .map(({ seed }) => seed),
    ).size,
  ).toBe(2);
});
