// tier: unit
import { chanceOfAtLeast, fisherExact } from '../../../contracts/statistics/exact-tails';

test.each([
  [0, [0.3, 0.4], 1],
  [1, [0.3, 0.4], 0.58],
  [2, [0.3, 0.4], 0.12],
  [3, [0.5, 0.5, 0.5], 0.125],
])('at least %i of %j', (count, probabilities, chance) => {
  expect(chanceOfAtLeast(count, probabilities)).toBeCloseTo(chance, 12);
});

test.each([
  // Fisher's tea.
  [{ events: 3, trials: 4 }, { events: 1, trials: 4 }, 17 / 70],
  [{ events: 4, trials: 4 }, { events: 0, trials: 4 }, 1 / 70],
  [{ events: 8, trials: 8 }, { events: 0, trials: 5 }, 1 / 1287],
  [{ events: 0, trials: 4 }, { events: 4, trials: 4 }, 1],
  [{ events: 2, trials: 2 }, { events: 0, trials: 0 }, 1],
  [{ events: 0, trials: 0 }, { events: 0, trials: 0 }, 1],
])('Fisher, %j against %j', (a, b, chance) => {
  expect(fisherExact(a, b)).toBeCloseTo(chance, 12);
});
