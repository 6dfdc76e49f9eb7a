// tier: unit
import { seededRandom } from '../../../activities/statistics/random';
import { isInCanary, SequentialTest } from '../../../gateway/canary/sequential-test';
import { simulateCanary } from './simulate-canary';

const WEEK = { share: 0.1, falseRollback: 0.05, activeRate: 0.8, canaryRate: 0.8, conversations: 2_000 };
const percentile = (values: number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.ceil(share * values.length) - 1];

describe('the sequential test', () => {
  it.each([
    [0.1, 0.8],
    [0.5, 0.4],
    [0.05, 0.95],
  ])('rolls at most 5 %% of 1,000 weeks back in which both arms are the same (share %d, rate %d)', (share, rate) => {
    let falseRollbacks = 0;
    for (let week = 0; week < 1_000; week++) {
      if (simulateCanary({ ...WEEK, share, activeRate: rate, canaryRate: rate }, seededRandom(week)) !== null)
        falseRollbacks += 1;
    }
    expect(falseRollbacks).toBeLessThanOrEqual(50);
  });

  it('rolls a loss of 5 points back within 15,000 conversations at share 0.1, and 6,000 at 0.5 (nine in ten)', () => {
    const after = (share: number) =>
      Array.from(
        { length: 30 },
        (_, seed) =>
          simulateCanary({ ...WEEK, share, canaryRate: 0.75, conversations: 20_000 }, seededRandom(seed)) ?? Infinity,
      );
    expect(percentile(after(0.1), 0.9)).toBeLessThanOrEqual(15_000);
    expect(percentile(after(0.5), 0.9)).toBeLessThanOrEqual(6_000);
  });

  it('leaves a better canary alone', () => {
    for (let seed = 0; seed < 20; seed++)
      expect(simulateCanary({ ...WEEK, canaryRate: 0.85, conversations: 20_000 }, seededRandom(seed))).toBeNull();
  });

  it('says its numbers', () => {
    const test = new SequentialTest(0.5, 0.05);
    for (let i = 0; i < 60; i++) {
      test.add('canary', 0);
      test.add('active', 1);
    }
    expect(test.isWorse).toBe(true);
    const text = test.describe();
    expect(text).toMatch(/^reward 0.0 % of 60 conversations against 100.0 % of 60 of the version before, evidence /);
    expect(text).toMatch(/ evidence \d+\.\d \(rolled back at 20\)$/);
  });
});

test('conversations are assigned to a canary by hash, in its share, and differently for each canary', () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `conversation ${i}`);
  const assigned = (id: string) => names.filter((name) => isInCanary({ id, share: 0.2 }, name));
  const [a, b] = [assigned('a'.repeat(12)), assigned('b'.repeat(12))];
  expect(a.length / names.length).toBeCloseTo(0.2, 1);
  expect(assigned('a'.repeat(12))).toEqual(a);
  expect(a.filter((name) => b.includes(name)).length / a.length).toBeCloseTo(0.2, 1);
});
