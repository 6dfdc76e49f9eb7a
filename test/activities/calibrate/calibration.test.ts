// Tier: unit.
import { calibrationOf, passAtK } from '../../../activities/calibrate/calibration';
import { calibrationResultSchema } from '../../../contracts/artifacts/environment-attempt';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';

const spec = agentSpecSchema.parse({
  version: 1,
  name: 'a',
  environment: { path: 'e.py', trainSeeds: { start: 0, count: 1 }, heldOutSeeds: { start: 1, count: 1 } },
  model: { name: 'm' },
});
const thresholds = { ...spec.calibration, successReward: 1 };
const groups = (...kinds: [count: number, rewards: number[]][]): number[][] =>
  kinds.flatMap(([count, rewards]) => Array.from({ length: count }, () => rewards));

describe('calibrationOf', () => {
  test('in band: figures and verdict', () => {
    const result = calibrationOf(groups([6, [1, 0, 0, 1]], [2, [0, 0, 0, 0]], [2, [0.5, 0.5, 0.5, 0.5]]), thresholds);
    expect(calibrationResultSchema.parse(result)).toMatchObject({
      seeds: 10,
      rolloutsPerSeed: 4,
      meanReward: 0.4,
      meanSuccess: 0.3,
      allSuccessGroups: 0,
      allZeroGroups: 0.2,
      constantGroups: 0.4,
      informativeGroups: 0.6,
      verdict: 'in-band',
      problems: [],
    });
    expect(result.groupMeans).toEqual([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0, 0, 0.5, 0.5]);
    expect(result.rewardStd).toBeCloseTo(Math.sqrt((12 * 0.36 + 8 * 0.01 + 20 * 0.16) / 40), 12);
  });

  test('thresholds include their ends', () => {
    expect(calibrationOf(groups([10, [1, 1, 1, 0, 0]]), thresholds)).toMatchObject({
      meanSuccess: 0.6,
      verdict: 'in-band',
    });
    expect(calibrationOf(groups([10, [1, 0, 0, 0, 0]]), thresholds)).toMatchObject({
      meanSuccess: 0.2,
      verdict: 'in-band',
    });
  });

  test('too easy: the numbers are in the sentences', () => {
    const { verdict, problems } = calibrationOf(groups([5, [1, 1, 1, 1]], [5, [1, 1, 1, 0]]), thresholds);
    expect(verdict).toBe('too-easy');
    expect(problems[0]).toBe("The base model's mean reward is 0.88, above 0.60: make the tasks harder.");
    expect(problems.join(' ')).toContain('On 0.50 of the tasks every rollout succeeds; at most 0.20');
  });

  test('too hard', () => {
    const { verdict, problems } = calibrationOf(groups([8, [0, 0, 0, 0]], [2, [1, 0, 0, 0]]), thresholds);
    expect(verdict).toBe('too-hard');
    expect(problems.join(' ')).toMatch(/below 0\.20.*On 0\.80 of the tasks every rollout earns 0/);
  });

  test('a mean in the middle of two extremes is uninformative', () => {
    expect(calibrationOf(groups([5, [1, 1, 1, 1]], [5, [0, 0, 0, 0]]), thresholds).verdict).toBe('uninformative');
  });

  test('rewards that hardly differ are uninformative', () => {
    const { verdict, problems } = calibrationOf(groups([10, [0.4, 0.41, 0.4, 0.41]]), {
      ...thresholds,
      meanSuccess: [0, 1],
    });
    expect(verdict).toBe('uninformative');
    expect(problems.join(' ')).toMatch(/Only on 0\.00 of the tasks.*standard deviation is 0\.0/);
  });

  test('pass@k is given as far as there are rollouts', () => {
    const { passAt } = calibrationOf(groups([1, [1, 1, 0, 0]], [1, [0, 0, 0, 0]]), thresholds);
    expect(Object.keys(passAt)).toEqual(['1', '4']);
    expect(passAt['1']!.estimate).toBeCloseTo(0.25);
    expect(passAt['4']!.estimate).toBeCloseTo(0.5);
    expect(passAt['4']!.low).toBeLessThan(0.2);
    expect(passAt['4']!.high).toBeGreaterThan(0.8);
  });

  test('success is what the agent calls success', () => {
    expect(calibrationOf([[0.8, 0.5]], { ...thresholds, successReward: 0.75 }).meanSuccess).toBe(0.5);
  });

  test('an empty group is a programming error', () => {
    expect(() => calibrationOf([[1], []], thresholds)).toThrow(RangeError);
  });
});

describe('passAtK', () => {
  test('is the probability of at least one success in a draw without replacement', () => {
    expect(passAtK(16, 1, 8)).toBeCloseTo(0.5);
    expect(passAtK(4, 2, 2)).toBeCloseTo(1 - 1 / 6);
    expect(passAtK(8, 0, 8)).toBe(0);
    expect(passAtK(8, 1, 8)).toBe(1);
  });
});
