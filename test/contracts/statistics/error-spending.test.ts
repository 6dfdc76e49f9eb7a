// tier: unit
import { confidenceOfComparison } from '../../../contracts/statistics/error-spending';

test('the errors of all comparisons sum to the whole, and each is smaller than the one before', () => {
  const errors = Array.from({ length: 100_000 }, (_, i) => 1 - confidenceOfComparison(0.9, i + 1));
  const sum = errors.reduce((total, error) => total + error, 0);
  expect(sum).toBeLessThanOrEqual(0.1);
  expect(sum).toBeCloseTo(0.1, 5);
  expect(errors[0]).toBeCloseTo(0.0608, 4);
  expect(errors[2]).toBeCloseTo(0.0608 / 9, 4);
});
