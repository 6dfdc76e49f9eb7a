// tier: unit
import { minimumDetectableGain } from '../../../contracts/statistics/minimum-detectable-gain';
import { plannedTrials } from '../../../contracts/statistics/planned-trials';

const size = { tasks: 420, confidence: 0.95, withinTask: 0.25 };
const provable = (trials: number) => minimumDetectableGain({ ...size, trials });

it('takes the fewest trials that prove the wanted gain', () => {
  const gain = (provable(4) + provable(5)) / 2;
  expect(plannedTrials(size, { least: 2, most: 20, gain })).toMatchObject({ trials: 5, reached: true });
  expect(plannedTrials(size, { least: 2, most: 20, gain: provable(4) })).toMatchObject({ trials: 4, reached: true });
});

it('never takes fewer than the least', () => {
  expect(plannedTrials(size, { least: 3, most: 20, gain: 0.5 })).toMatchObject({ trials: 3, reached: true });
});

it('takes the most where that is not enough, and says so', () => {
  expect(plannedTrials(size, { least: 2, most: 4, gain: provable(5) })).toMatchObject({ trials: 4, reached: false });
});

it('says what no number of trials gets below: chance between tasks', () => {
  const { floor, reached } = plannedTrials(size, { least: 2, most: 1000, gain: 0.001 });
  expect(reached).toBe(false);
  // Solved by hand: gain = z^2 / (tasks + z^2), z = 1.959964 + 0.841621.
  expect(floor).toBeCloseTo(7.848879 / (420 + 7.848879), 6);
  expect(provable(100_000)).toBeGreaterThan(floor);
  expect(provable(100_000)).toBeCloseTo(floor, 3);
});
