// tier: unit
import { bootstrapMean, bootstrapMeans, bootstrapRatio } from '../../../activities/statistics/bootstrap';
import { normalCdf, normalQuantile } from '../../../contracts/statistics/normal';
import { randomFrom, randomSource } from '../../../activities/statistics/random';

const options = { samples: 4000, confidence: 0.95, seed: 1 };
const RATE = [0, 1] as const;
const DIFFERENCE = [-1, 1] as const;

describe('random numbers', () => {
  it('follow the reference implementation of xoshiro128++', () => {
    const random = randomFrom([1, 2, 3, 4]);
    const words = Array.from({ length: 5 }, () => random.uniform() * 2 ** 32);
    expect(words).toEqual([641, 1573767, 3222811527, 3517856514, 836907274]);
  });

  it('are uniform enough: every bin of 16 within 5 standard errors', () => {
    const random = randomSource(3);
    const bins = new Array<number>(16).fill(0);
    for (let i = 0; i < 160_000; i++) bins[random.below(16)]! += 1;
    for (const bin of bins) expect(Math.abs(bin - 10_000)).toBeLessThan(5 * Math.sqrt(10_000));
  });
});

describe('the normal distribution', () => {
  it('has the tabulated values', () => {
    expect(normalCdf(1.959964)).toBeCloseTo(0.975, 6);
    expect(normalCdf(-1)).toBeCloseTo(0.1586553, 6);
    expect(normalQuantile(0.975)).toBeCloseTo(1.959964, 4);
    expect(normalQuantile(0.5)).toBeCloseTo(0, 5);
    expect(() => normalQuantile(1)).toThrow(RangeError);
  });
});

describe('bootstrapMean', () => {
  it('is a function of its seed', () => {
    const values = Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? 1 : 0));
    expect(bootstrapMean(values, RATE, options)).toEqual(bootstrapMean(values, RATE, options));
    expect(bootstrapMean(values, RATE, { ...options, seed: 2 })).not.toEqual(bootstrapMean(values, RATE, options));
  });

  it('gives a figure the same interval whatever else is computed beside it', () => {
    const values = Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? 1 : 0));
    const others = [
      { values: values.map((v) => 1 - v), range: RATE },
      { values: values.map(() => 1), range: RATE },
    ];
    expect(bootstrapMeans([...others, { values, range: RATE }], options)[2]).toEqual(
      bootstrapMean(values, RATE, options),
    );
  });

  it('agrees with the normal approximation where that is good', () => {
    const values = Array.from({ length: 1000 }, (_, i) => (i < 400 ? 1 : 0));
    const { estimate, low, high } = bootstrapMean(values, RATE, options);
    const half = 1.96 * Math.sqrt((0.4 * 0.6) / 1000);
    expect(estimate).toBe(0.4);
    expect(low).toBeCloseTo(0.4 - half, 2);
    expect(high).toBeCloseTo(0.4 + half, 2);
  });

  it('goes on beyond its resamples as a normal distribution does', () => {
    const values = Array.from({ length: 1000 }, (_, i) => (i < 400 ? 1 : 0));
    const { low, high } = bootstrapMean(values, RATE, { samples: 1000, confidence: 1 - 1e-6, seed: 1 });
    const half = 4.8916 * Math.sqrt((0.4 * 0.6) / 1000);
    expect(Math.abs(low - (0.4 - half))).toBeLessThan(0.012);
    expect(Math.abs(high - (0.4 + half))).toBeLessThan(0.012);
  });

  it('is skewed towards the middle for a rare outcome, as the acceleration makes it', () => {
    const values = Array.from({ length: 100 }, (_, i) => (i < 4 ? 1 : 0));
    const { low, high } = bootstrapMean(values, RATE, options);
    expect(high - 0.04).toBeGreaterThan(0.04 - low);
    expect(low).toBeGreaterThan(0);
  });

  it('does not claim certainty when all tasks agree', () => {
    expect(bootstrapMean(new Array<number>(10).fill(1), RATE, options)).toEqual({
      estimate: 1,
      low: expect.closeTo(0.6915, 4),
      high: 1,
    });
    expect(bootstrapMean(new Array<number>(10).fill(0), RATE, options)).toEqual({
      estimate: 0,
      low: 0,
      high: expect.closeTo(0.3085, 4),
    });
    expect(bootstrapMean([0, 0, 0], DIFFERENCE, options).low).toBeLessThan(-0.5);
  });

  it('refuses to speak about no tasks', () => {
    expect(() => bootstrapMean([], RATE, options)).toThrow('at least one task');
  });

  it('covers the true difference at about its nominal rate', () => {
    // 40 of 80 tasks gain, the rest stay; truth +0.3. With 400 repetitions the standard error of the coverage is 0.011.
    const random = randomSource(11);
    let covered = 0;
    for (let repetition = 0; repetition < 400; repetition++) {
      const differences = Array.from({ length: 80 }, () => {
        const [base, routed] = random.uniform() < 0.5 ? [0.2, 0.8] : [0.95, 0.95];
        const passes = (p: number) => ((random.uniform() < p ? 1 : 0) + (random.uniform() < p ? 1 : 0)) / 2;
        return passes(routed) - passes(base);
      });
      const { low, high } = bootstrapMean(differences, DIFFERENCE, {
        samples: 400,
        confidence: 0.95,
        seed: repetition,
      });
      if (low <= 0.3 && 0.3 <= high) covered += 1;
    }
    expect(covered / 400).toBeGreaterThan(0.91);
    expect(covered / 400).toBeLessThan(0.985);
  });

  it('covers a pass rate when the trials of a task are alike, where counting trials as tasks would not', () => {
    // Each task passes always or never: ten trials of it are one observation.
    const random = randomSource(5);
    let clusters = 0;
    let naive = 0;
    for (let repetition = 0; repetition < 100; repetition++) {
      const tasks = Array.from({ length: 40 }, () => (random.uniform() < 0.5 ? 1 : 0));
      const inside = (values: number[]) => {
        const { low, high } = bootstrapMean(values, RATE, { samples: 200, confidence: 0.95, seed: repetition });
        return low <= 0.5 && 0.5 <= high ? 1 : 0;
      };
      clusters += inside(tasks);
      naive += inside(tasks.flatMap((task) => new Array<number>(10).fill(task)));
    }
    expect(clusters / 100).toBeGreaterThan(0.88);
    expect(naive / 100).toBeLessThan(0.6);
  });
});

describe('bootstrapRatio', () => {
  it('weights tasks and leaves those without weight out', () => {
    const tasks = [
      { value: 1, weight: 2 },
      { value: 0, weight: 1 },
      { value: 7, weight: 0 },
    ];
    expect(bootstrapRatio(tasks, RATE, options).estimate).toBeCloseTo(2 / 3, 12);
    expect(() => bootstrapRatio([{ value: 1, weight: 0 }], RATE, options)).toThrow(RangeError);
  });
});
