// tier: unit
import { jaccard } from '../../../activities/statistics/jaccard';

test('the index is the share of the union that both have', () => {
  expect(jaccard(new Set(['a', 'b', 'c']), new Set(['b', 'c', 'd']))).toBe(0.5);
  expect(jaccard(new Set([1]), new Set([1]))).toBe(1);
});

test('two empty sets do not agree', () => {
  expect(jaccard(new Set(), new Set())).toBe(0);
  expect(jaccard(undefined, new Set([1]))).toBe(0);
});
