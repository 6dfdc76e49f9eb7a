// tier: unit
import { fitLogistic, type Observation } from '../../../routing/fit/logistic-regression';
import { randomSource } from '../../../activities/statistics/random';
import { linearProbability } from '../../../routing/need-reader';

const at = (features: readonly number[], share: number, trials = 1): Observation => ({
  features: { positions: features.map((_, place) => place), values: features },
  share,
  trials,
});

test('finds the coefficients that outcomes were drawn from', async () => {
  const random = randomSource(3);
  const observations = Array.from({ length: 20_000 }, () => {
    const x = [random.uniform() * 2 - 1, random.uniform() * 2 - 1];
    const p = 1 / (1 + Math.exp(-(0.5 + 2 * x[0]! - x[1]!)));
    return at(x, random.uniform() < p ? 1 : 0);
  });
  const { bias, weights } = await fitLogistic(observations, 2, 1e-6);
  expect(bias).toBeCloseTo(0.5, 1);
  expect(weights.values[0]).toBeCloseTo(2, 0);
  expect(weights.values[1]).toBeCloseTo(-1, 0);
});

test('its gradient is zero: residuals equal the ridge', async () => {
  const observations = [at([1, 0], 1), at([1, 1], 0, 3), at([0, 1], 0.25, 4), at([0, 0], 1, 2)];
  const model = await fitLogistic(observations, 2, 0.3);
  for (const place of [0, 1]) {
    const residual = observations.reduce(
      (sum, { features, share, trials }) =>
        sum + trials * (linearProbability(model, features) - share) * features.values[place]!,
      0,
    );
    expect(residual + 0.3 * (model.weights.values[model.weights.positions.indexOf(place)] ?? 0)).toBeCloseTo(0, 3);
  }
});

test('stays finite where all outcomes are the same, where classes are separable, and without observations', async () => {
  const same = await fitLogistic([at([1], 1), at([1], 1)], 1, 0.01);
  expect(Number.isFinite(same.bias)).toBe(true);
  expect(linearProbability(same, { positions: [0], values: [1] })).toBeGreaterThan(0.9);
  const separable = await fitLogistic([at([1], 1), at([-1], 0)], 1, 0.01);
  expect(separable.weights.values.every(Number.isFinite)).toBe(true);
  expect(await fitLogistic([], 3, 1)).toEqual({ bias: 0, weights: { positions: [], values: [] } });
});
