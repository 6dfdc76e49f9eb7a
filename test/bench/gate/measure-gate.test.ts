// tier: unit
import { judgedConfidence, promotedShare } from '../../../bench/gate/measure-gate';

const TRUTH = { tasks: 150, trials: 2, incumbent: true, gain: 0.09 };

it('judges at the level of the comparison, as the gate of a run does', () => {
  expect(judgedConfidence(1)).toBeCloseTo(0.9696, 4);
  expect(judgedConfidence(2)).toBeCloseTo(0.9924, 4);
  expect(judgedConfidence(1000)).toBeGreaterThan(0.9999999);
});

it('a later comparison promotes less of what is truly better', () => {
  const first = promotedShare(TRUTH, 30, 1);
  const last = promotedShare({ ...TRUTH, comparison: 1000 }, 30, 1);
  expect(first).toBeGreaterThan(0.5);
  expect(last).toBeLessThan(first - 0.3);
});
