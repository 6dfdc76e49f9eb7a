// tier: unit
import { chanceOfHigherMean } from '../../../activities/statistics/permutation-test';

test.each([
  // One of C(4, 2) = 6 choices is as high.
  ['separated groups', [1, 1], [0, 0], 1 / 6],
  ['the groups the other way round', [0, 0], [1, 1], 1],
  // Of 20 choices of three out of {1, 1, 1, 0, 0, 0}, ten have at least two ones.
  ['a mixture', [1, 1, 0], [1, 0, 0], 0.5],
  ['partial rewards', [0.5, 0.25], [0.25, 0], 2 / 6],
  ['equal values', [0.3, 0.3], [0.3], 1],
  ['an empty group', [], [1], 1],
])('%s', (_, a, b, chance) => {
  expect(chanceOfHigherMean(a, b)).toBeCloseTo(chance, 12);
});

test('thirty of sixty are counted exactly', () => {
  const ones = Array.from({ length: 30 }, () => 1);
  const choices = Array.from({ length: 30 }, (_, i) => (60 - i) / (30 - i)).reduce((a, b) => a * b, 1);
  expect(
    chanceOfHigherMean(
      ones,
      ones.map(() => 0),
    ) * choices,
  ).toBeCloseTo(1, 6);
});
