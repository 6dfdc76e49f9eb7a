// tier: unit
import { fitTemperature, fitThreshold } from '../../../routing/fit/fit-calibration';
import { randomSource } from '../../../activities/statistics/random';
import { calibrated, calibratedChoice } from '../../../routing/menu-answer';

/** Tasks whose right choice is drawn from the true probabilities; the router says them sharpened by a temperature. */
function overconfident(temperature: number, tasks = 4_000) {
  const random = randomSource(5);
  return Array.from({ length: tasks }, () => {
    const truth = 0.5 + random.uniform() / 2;
    return { probabilities: calibrated([truth, 1 - truth], 1 / temperature), right: random.uniform() < truth ? 0 : 1 };
  });
}

describe('the temperature', () => {
  it.each([1, 2, 4, 0.5])('is found again: %d', (temperature) =>
    expect(fitTemperature(overconfident(temperature))).toBeCloseTo(temperature, temperature < 3 ? 0.5 : 0),
  );

  it('stays near 1 for a router that is always right', () => {
    const sure = Array.from({ length: 200 }, () => ({ probabilities: [0.99, 0.01], right: 0 }));
    expect(fitTemperature(sure)).toBeGreaterThan(0.6);
  });

  it('keeps the order of the options', () => {
    expect(calibrated([0.7, 0.2, 0.1], 3).map((p) => Math.round(p * 100))).toEqual([46, 30, 24]);
    expect(calibrated([1, 0], 2)).toEqual([1, 0]);
  });
});

describe('the threshold', () => {
  const choice = (probability: number, base: number, chosen: number) => ({
    probabilities: [probability, 1 - probability],
    base,
    chosen,
  });

  it('is where the adapter begins to do better than base', () => {
    const tasks = Array.from({ length: 200 }, (_, i) => (i % 2 ? choice(0.62, 0.9, 0.2) : choice(0.95, 0.1, 0.9)));
    expect(fitThreshold(tasks, 1)).toBeCloseTo(0.65);
  });

  it('is nothing where abstaining earns nothing, or there is too little to tell', () => {
    expect(
      fitThreshold(
        Array.from({ length: 200 }, () => choice(0.6, 0.3, 0.8)),
        1,
      ),
    ).toBe(0);
    expect(
      fitThreshold(
        Array.from({ length: 10 }, () => choice(0.6, 0.9, 0.1)),
        1,
      ),
    ).toBe(0);
  });

  it('sends a choice below it to base', () => {
    const record = { capabilityId: 'a', probabilities: [0.8, 0.2] };
    expect(calibratedChoice(record, { temperature: 1, threshold: 0.7 })).toMatchObject({
      capabilityId: 'a',
      abstained: false,
    });
    expect(calibratedChoice(record, { temperature: 2, threshold: 0.7 })).toMatchObject({
      capabilityId: 'none',
      abstained: true,
    });
  });
});
