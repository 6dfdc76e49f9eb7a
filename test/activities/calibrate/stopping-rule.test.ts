// Tier: unit.
import {
  calibrationDesign,
  type CalibrationThresholds,
  isSettled,
  nextRollouts,
  shareAbove,
  verdictDoubt,
} from '../../../activities/calibrate/stopping-rule';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';

const { seeds: _seeds, rolloutsPerSeed: _rollouts, ...band } = agentSpecSchema.shape.calibration.parse(undefined);
const thresholds: CalibrationThresholds = { ...band, successReward: 1 };
const design = calibrationDesign({ seeds: 100, rolloutsPerSeed: 16 });
const repeat = (count: number, rewards: number[]): number[][] => Array.from({ length: count }, () => rewards);
/** Eight rollouts, so many of them successes. */
const eight = (successes: number): number[] => Array.from({ length: 8 }, (_, i) => Number(i < successes));

describe('nextRollouts', () => {
  test('begins with a block of tasks and half of the rollouts of each', () => {
    const wanted = nextRollouts([], design, thresholds)!;
    expect(wanted).toHaveLength(10);
    expect(wanted[9]).toEqual({ group: 9, upTo: 8 });
  });

  test('a group without a success or without a failure goes on, the others do not', () => {
    expect(nextRollouts([eight(3), eight(0), eight(8), eight(1)], design, thresholds)).toEqual([
      { group: 1, upTo: 12 },
      { group: 2, upTo: 12 },
    ]);
  });

  test('stops when the base model never succeeds', () => {
    expect(nextRollouts(repeat(10, Array<number>(16).fill(0)), design, thresholds)).toBeNull();
  });

  test('stops when the verdict "in band" is certain, and not before', () => {
    expect(nextRollouts(repeat(10, eight(3)), design, thresholds)).not.toBeNull();
    expect(nextRollouts(repeat(30, eight(3)), design, thresholds)).toBeNull();
  });

  test('"in band" takes eight tasks of each range of seeds, where agent.yaml asks for as many', () => {
    const sure: CalibrationThresholds = {
      ...thresholds,
      ...{ meanReward: [0, 1], meanSuccess: [0, 1], maxAllSuccessGroups: 1, maxAllZeroGroups: 1 },
      ...{ maxConstantGroups: 1, minInformativeGroups: 0, minRewardStd: 0 },
    };
    expect(nextRollouts(repeat(8, eight(3)), design, sure)).toHaveLength(10);
    expect(nextRollouts(repeat(16, eight(3)), design, sure)).toBeNull();
    expect(nextRollouts(repeat(10, eight(3)), { ...design, seeds: 10 }, sure)).toBeNull();
  });

  test('at a threshold it ends as the fixed design: all tasks with all rollouts', () => {
    const edge = Array.from({ length: 100 }, (_, i) => eight(i % 5 === 0 ? 4 : 1));
    expect(nextRollouts(edge, design, thresholds)).toHaveLength(100);
    expect(nextRollouts(edge, design, thresholds)![0]).toEqual({ group: 0, upTo: 16 });
    const whole = edge.map((rewards) => [...rewards, ...rewards]);
    expect(verdictDoubt(whole, design, thresholds).doubt).toBe(0);
    expect(nextRollouts(whole, design, thresholds)).toBeNull();
  });
});

test('a group is settled when no further rollout changes what it counts for', () => {
  expect(isSettled([1, 0], 16, thresholds)).toBe(true);
  expect(isSettled([1, 1], 16, thresholds)).toBe(false);
  expect(isSettled([0.4, 0], 16, thresholds)).toBe(false);
  // The deviation could still fall below what counts as informative.
  expect(isSettled([1, 0.9], 16, { ...thresholds, successReward: 1 })).toBe(false);
  expect(isSettled(Array<number>(16).fill(0), 16, thresholds)).toBe(true);
});

test('the probability of a share above its limit is beta-binomial', () => {
  // One group to come, after 0 of 1: Jeffreys' posterior mean is (0 + 1/2) / (1 + 1) = 1/4.
  expect(shareAbove(0, 1, 2, 0)).toBeCloseTo(0.25, 12);
  expect(shareAbove(5, 10, 10, 0.5)).toBe(0);
  expect(shareAbove(6, 10, 10, 0.5)).toBe(1);
  expect(shareAbove(1, 50, 100, 0.2)).toBeLessThan(1e-4);
});
