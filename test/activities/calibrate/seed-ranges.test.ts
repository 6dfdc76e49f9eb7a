// Tier: unit.
import { createHash } from 'node:crypto';
import { calibrationOf } from '../../../activities/calibrate/calibration';
import { calibrationSeeds, heldAcrossRanges } from '../../../activities/calibrate/seed-ranges';
import { calibrationResultSchema } from '../../../contracts/artifacts/environment-attempt';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { CHECKED_TRAINING_TASKS, SYNTHETIC_SEEDS } from '../../../contracts/limits';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('calibrationSeeds', () => {
  test('every other task has a training seed, the others come one after the other', () => {
    const seeds = calibrationSeeds(100, hashOf('a'));
    expect(seeds.filter((_, task) => task % 2 === 0)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    const training = seeds.filter((_, task) => task % 2 === 1);
    const { training: start } = SYNTHETIC_SEEDS;
    expect(training.every((seed) => seed >= start && seed < start + CHECKED_TRAINING_TASKS)).toBe(true);
    expect(new Set(seeds).size).toBe(100);
  });

  test('the source decides which training seeds; more tasks begin with the same ones', () => {
    expect(calibrationSeeds(100, hashOf('a')).slice(0, 16)).toEqual(calibrationSeeds(16, hashOf('a')));
    const shared = calibrationSeeds(100, hashOf('b')).filter((seed) =>
      calibrationSeeds(100, hashOf('a')).includes(seed),
    );
    expect(shared.filter((seed) => seed >= SYNTHETIC_SEEDS.training).length).toBeLessThan(3);
  });
});

describe('heldAcrossRanges', () => {
  const { seeds: _seeds, rolloutsPerSeed: _rollouts, ...band } = agentSpecSchema.shape.calibration.parse(undefined);
  const thresholds = { ...band, successReward: 1 };
  /** Ten rollouts, so many of them successes. */
  const ten = (successes: number): number[] => Array.from({ length: 10 }, (_, i) => Number(i < successes));
  /** The calibration of tasks with so many successes, those with calibration seeds and those with training seeds. */
  const judged = (calibration: number[], training: number[]) => {
    const rewards = calibration.flatMap((successes, task) => [ten(successes), ten(training[task]!)]);
    return heldAcrossRanges(calibrationOf(rewards, thresholds), calibrationSeeds(rewards.length, hashOf('a')));
  };
  const repeat = (times: number, ...successes: number[]): number[] =>
    Array.from({ length: times }, () => successes).flat();

  test('equal means leave the verdict as it is, and both stand in the result', () => {
    const result = judged(repeat(10, 3, 5), repeat(10, 5, 3));
    expect(calibrationResultSchema.parse(result)).toMatchObject({ verdict: 'in-band', problems: [] });
    expect(result.bySeeds!.training.tasks).toBe(20);
    expect(result.bySeeds!.training.meanReward).toBeCloseTo(0.4, 12);
    expect(result.bySeeds!.calibration.meanReward).toBeCloseTo(0.4, 12);
  });

  test.each([
    ['more', repeat(10, 2, 4), repeat(10, 5, 6), '0.55 on 20 tasks with training seeds', '0.30 on 20 tasks'],
    ['less', repeat(10, 5, 6), repeat(10, 2, 4), '0.30 on 20 tasks with training seeds', '0.55 on 20 tasks'],
  ])('%s reward with training seeds is out of band, with both means and counts', (_, calibration, training, a, b) => {
    const { verdict, problems } = judged(calibration, training);
    expect(verdict).toBe('differs-by-seed');
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`mean reward is ${a} (from 1000000) and ${b} with calibration seeds: make tasks`);
  });

  test('a difference that tasks of one range have as well is chance', () => {
    expect(judged(repeat(4, 0, 8), repeat(4, 2, 10)).verdict).not.toBe('differs-by-seed');
  });

  test('a difference below a tenth does not matter, however certain it is', () => {
    expect(judged(repeat(40, 4), repeat(20, 5, 4)).verdict).toBe('in-band');
  });

  test('fewer than eight tasks of each are not compared', () => {
    expect(judged(repeat(7, 1), repeat(7, 7)).verdict).toBe('in-band');
    expect(judged(repeat(8, 1), repeat(8, 7)).verdict).toBe('differs-by-seed');
  });
});
