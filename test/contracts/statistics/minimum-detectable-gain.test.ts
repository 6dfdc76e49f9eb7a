// tier: unit
import {
  minimumDetectableGain,
  observedSpread,
  unknownAgent,
} from '../../../contracts/statistics/minimum-detectable-gain';

const size = { tasks: 420, trials: 2, confidence: 0.95, withinTask: 0.15 };

it('falls with tasks and trials, and rises with the confidence asked for', () => {
  const least = minimumDetectableGain(size);
  expect(least).toBeGreaterThan(0.03);
  expect(least).toBeLessThan(0.1);
  expect(minimumDetectableGain({ ...size, tasks: 1680 })).toBeLessThan(least * 0.6);
  expect(minimumDetectableGain({ ...size, trials: 8 })).toBeLessThan(least);
  expect(minimumDetectableGain({ ...size, confidence: 0.99 })).toBeGreaterThan(least);
  expect(minimumDetectableGain(unknownAgent(size))).toBeGreaterThan(least);
});

it('is larger where episodes fail, most with one trial', () => {
  const ratio = (trials: number) =>
    minimumDetectableGain({ ...size, trials, failed: 0.2 }) / minimumDetectableGain({ ...size, trials });
  expect(ratio(4)).toBeGreaterThan(1);
  expect(ratio(1)).toBeGreaterThan(ratio(4));
  expect(minimumDetectableGain({ ...size, failed: 0 })).toBe(minimumDetectableGain(size));
  expect(minimumDetectableGain({ ...size, failed: 1 })).toBe(1);
});

it('is one where nothing could be proved', () => {
  expect(minimumDetectableGain({ ...size, tasks: 1, trials: 1, withinTask: 0.25 })).toBe(1);
  expect(minimumDetectableGain({ ...size, tasks: 0 })).toBe(1);
});

it('tells chance within tasks from differences between tasks', () => {
  expect(
    observedSpread([
      [1, 1],
      [0, 0],
    ]),
  ).toEqual({ passRate: 0.5, withinTask: 0 });
  expect(
    observedSpread([
      [1, 0],
      [0, 1],
    ]),
  ).toEqual({ passRate: 0.5, withinTask: 0.25 });
  // One trial says nothing about chance: all of the spread may be.
  expect(observedSpread([[1], [0]])).toEqual({ passRate: 0.5, withinTask: 0.25 });
  expect(observedSpread([])).toEqual({ passRate: 0, withinTask: 0 });
});
