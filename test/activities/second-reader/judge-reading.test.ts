// tier: unit
import { judgeReading, type LabelNoise, type ReadRollout } from '../../../activities/second-reader/judge-reading';
import { randomSource } from '../../../activities/statistics/random';

const NOISE: LabelNoise = { lacking: 0.05, notCalledFor: 0.05 };
const LOOKS = 5;

const rollout = (label: ReadRollout['label'], reward: number, more: Partial<ReadRollout> = {}): ReadRollout => ({
  ...{ source: 'base', change: null, seed: 1, callsForIt: null, reason: '', step: null },
  ...{ label, reward, paid: reward >= 0.99 },
  ...more,
});
const times = (count: number, one: ReadRollout): ReadRollout[] => Array.from({ length: count }, () => one);

describe('a right environment passes', () => {
  test.each([
    ['where label and reward agree', [...times(9, rollout('PRESENT', 1)), ...times(9, rollout('LACKING', 0))]],
    [
      'with partial rewards and other demands: right conduct that fails for another reason proves nothing',
      [...times(8, rollout('PRESENT', 1)), ...times(6, rollout('PRESENT', 0.2)), ...times(4, rollout('LACKING', 0.1))],
    ],
    [
      'with exceptions, in which there is no occasion',
      [
        ...times(8, rollout('PRESENT', 1, { source: 'reference', callsForIt: true })),
        ...times(5, rollout('NA', 1, { source: 'reference', callsForIt: false })),
        ...times(5, rollout('LACKING', 0)),
      ],
    ],
  ])('%s', (_, read) => {
    expect(judgeReading(read, NOISE, LOOKS)).toMatchObject({ problems: [], isOpen: false });
  });

  test('labels without an occasion prove nothing, so more are asked for', () => {
    expect(judgeReading(times(18, rollout('NA', 1)), NOISE, LOOKS)).toMatchObject({ problems: [], isOpen: true });
  });

  test('one label that may be noise asks for more labels', () => {
    const read = [...times(7, rollout('PRESENT', 1)), rollout('LACKING', 1), ...times(10, rollout('LACKING', 0))];
    expect(judgeReading(read, NOISE, LOOKS)).toMatchObject({ problems: [], isOpen: true });
    const more = [...read, ...times(9, rollout('PRESENT', 1))];
    expect(judgeReading(more, NOISE, LOOKS)).toMatchObject({ problems: [], isOpen: false });
  });
});

describe('a wrong environment is told by', () => {
  test.each([
    [
      'rewards the other way round, though no reward is a success',
      [...times(8, rollout('PRESENT', 0.1)), ...times(8, rollout('LACKING', 0.8))],
      /^The reward pays for the opposite of the capability: rollouts labelled LACKING earn 0\.80 on average \(8\)/,
    ],
    [
      'exceptions that are paid the other way, though the whole is not',
      [
        ...times(20, rollout('PRESENT', 0.9, { callsForIt: true })),
        ...times(20, rollout('LACKING', 0, { callsForIt: true })),
        ...times(7, rollout('PRESENT', 0, { callsForIt: false })),
        ...times(7, rollout('LACKING', 0.9, { callsForIt: false })),
      ],
      /^Among the tasks that the environment says do not call for the capability/,
    ],
    [
      'success without the capability',
      [...times(6, rollout('PRESENT', 1)), ...times(4, rollout('LACKING', 1)), ...times(8, rollout('LACKING', 0))],
      /^4 of 10 rollouts that are paid and have an occasion for the capability lack it/,
    ],
    [
      'tasks that should call for it and give no occasion',
      [
        ...times(4, rollout('NA', 1, { source: 'reference', callsForIt: true })),
        ...times(3, rollout('PRESENT', 1, { source: 'reference', callsForIt: true })),
        ...times(5, rollout('PRESENT', 1)),
      ],
      /^In 4 of 7 tasks that the environment says call for the capability/,
    ],
  ])('%s', (_, read, problem) => {
    const { problems } = judgeReading(read, NOISE, LOOKS);
    expect(problems[0]).toMatch(problem);
  });

  test('but the target is not stricter than its own labels are sure', () => {
    const read = [...times(7, rollout('PRESENT', 1)), ...times(3, rollout('LACKING', 1))];
    expect(judgeReading(read, { ...NOISE, lacking: 0.2 }, LOOKS).problems).toEqual([]);
  });
});

describe('over whole readings with noisy labels', () => {
  const DRAWS = 500;
  const random = randomSource(7);
  /** Reads as the activity does: 20 labels, then ten more while the verdict is open. */
  const isRefused = (paidWithoutIt: number, labelNoise: number): boolean => {
    const read: ReadRollout[] = [];
    for (let wanted = 20; ; wanted += 10) {
      while (read.length < wanted) {
        const paid = random.uniform() < 0.6;
        const lacks = paid ? random.uniform() < paidWithoutIt : random.uniform() < 0.8;
        const isWrong = random.uniform() < labelNoise;
        read.push(rollout(lacks === isWrong ? 'PRESENT' : 'LACKING', paid ? 1 : 0.2));
      }
      const { problems, isOpen } = judgeReading(read, NOISE, LOOKS);
      if (problems.length > 0) return true;
      if (!isOpen || wanted >= 60) return false;
    }
  };
  const refused = (...dials: Parameters<typeof isRefused>): number =>
    Array.from({ length: DRAWS }, () => isRefused(...dials)).filter(Boolean).length / DRAWS;

  test('at most 5 % of right ones are refused, and most of those that pay a third without it', () => {
    expect(refused(0, 0.05)).toBeLessThanOrEqual(0.05);
    expect(refused(0.35, 0.05)).toBeGreaterThan(0.85);
    expect(refused(1, 0.05)).toBe(1);
  });
});

test('each figure of the report has its own name', () => {
  const read = [...times(4, rollout('PRESENT', 1)), ...times(4, rollout('LACKING', 0))];
  const names = judgeReading(read, NOISE, LOOKS).figures.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
