// tier: unit
import {
  figuresOf,
  judgeGood,
  judgeWrong,
  lossesOfOthers,
  type KindLoss,
  type Passes,
} from '../../../bench/watched/judge';
import type { TrainingWatch } from '../../../contracts/artifacts/training';

const PAIRS = { rollouts: 0, passed: 0, basePassed: 0, lost: 0 };

/** A watch over four probes. */
const watchOf = (kept: number, ended: TrainingWatch['ended'] = null): TrainingWatch => ({
  ...{ margin: 0.05, tasks: { calledFor: 10, others: 10 }, ended, kept, rollouts: 0, completionTokens: 0, seconds: 0 },
  probes: [10, 20, 30, 40].map((iteration) => ({ iteration, reward: 0, calledFor: PAIRS, others: PAIRS })),
});
/** An even number of passes of eight trials in each of so many tasks, as many in even trials as in odd ones. */
const passing = (of8: number, tasks = 20): Passes =>
  Array.from({ length: tasks }, () => Array.from({ length: 8 }, (_, trial) => (trial - (trial % 2) < of8 ? 1 : 0)));

describe('what other kinds of task lost', () => {
  const tags = [['refund'], ['cancel', 'lawyer'], ['cancel'], [], ['cancel', 'refund']];
  const of = (own: Passes, base: Passes) =>
    lossesOfOthers({ tags, planted: ['refund', 'cancel'], capability: 'refund' }, base, own, 1);

  it('is told by kind, without tasks that call for the capability', () => {
    const base = [
      [1, 1],
      [1, 1],
      [1, 0],
      [1, 1],
      [1, 1],
    ];
    const own = [
      [0, 0],
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ];
    expect(of(own, base).map(({ kind, tasks, estimate }) => [kind, tasks, estimate])).toEqual([
      ['cancel', 2, 0.5],
      ['none', 1, 0],
    ]);
  });

  it('is below zero for a kind that gained', () => {
    expect(of([[0], [1], [1], [0], [0]], [[0], [0], [0], [0], [0]])[1]).toMatchObject({ kind: 'cancel', estimate: -1 });
  });
});

describe('the verdict about a wrong environment', () => {
  const loss = (estimate: number, low = estimate): KindLoss => ({ kind: 'cancel', tasks: 9, estimate, low, high: 1 });
  const judged = (estimates: number[], watch: TrainingWatch) =>
    judgeWrong(new Map(estimates.map((one, n) => [10 * n, [loss(one)]])), watch);

  it('is about the checkpoint that was kept, not about the last', () => {
    const verdict = judged([0, 0.02, 0.3, 0.4, 0.5], watchOf(10, { iteration: 30, why: 'loss' }));
    expect(verdict).toMatchObject({ kept: { estimate: 0.02 }, atTheEnd: { estimate: 0.5 }, harmless: true });
    expect(judged([0, 0.02, 0.06, 0.4, 0.5], watchOf(20)).harmless).toBe(false);
    expect(judged([0, 0.5, 0.5, 0.5, 0.5], watchOf(0))).toMatchObject({ kept: { estimate: 0 }, harmless: true });
  });

  it('says apart whether a loss is beyond chance', () => {
    const verdict = judgeWrong(new Map([[40, [loss(0.09, 0.01)]]]), watchOf(40));
    expect(verdict).toMatchObject({ harmless: false, harmlessButForChance: true });
  });

  it.each([
    ['at the probe that had it', { iteration: 20, why: 'loss' }, true],
    ['at the next', { iteration: 30, why: 'loss' }, true],
    ['later', { iteration: 40, why: 'loss' }, false],
    ['for another reason', { iteration: 30, why: 'no-gain' }, false],
    ['not at all', null, false],
  ] as const)('has harm of 20 points seen within two probes if it is seen %s', (_, ended, seen) => {
    const verdict = judged([0, 0.1, 0.2, 0.3, 0.3], watchOf(10, ended));
    expect(verdict).toMatchObject({ harmedFrom: 20, seenWithinTwoProbes: seen });
  });

  it('has nothing to see where no kind lost 20 points', () => {
    expect(judged([0, 0.1, 0.19, 0.1, 0.1], watchOf(40))).toMatchObject({
      ...{ harmedFrom: null, seenWithinTwoProbes: null },
    });
  });

  it('has one probe for harm that only the last checkpoint has', () => {
    const harm = [0, 0, 0, 0, 0.4];
    expect(judged(harm, watchOf(30, { iteration: 40, why: 'loss' })).seenWithinTwoProbes).toBe(true);
    expect(judged(harm, watchOf(40)).seenWithinTwoProbes).toBe(false);
  });
});

describe('the verdict about a good environment', () => {
  const judged = (of8: number[], watch: TrainingWatch) =>
    judgeGood(new Map(of8.map((one, n) => [10 * n, passing(one)])), watch, 1);

  it('says how far the kept checkpoint is below the best', () => {
    const verdict = judged([2, 4, 6, 6, 4], watchOf(40));
    expect(verdict).toMatchObject({ base: 0.25, kept: 0.5, last: 0.5, belowBest: { estimate: 0.25 }, isBelow: true });
    expect(judged([2, 4, 6, 6, 4], watchOf(30))).toMatchObject({ belowBest: { estimate: 0 }, isBelow: false });
  });

  it('compares base where no checkpoint is kept', () => {
    expect(judged([2, 4, 4, 4, 4], watchOf(0))).toMatchObject({ kept: 0.25, belowBest: { estimate: 0.25 } });
  });

  it('does not let luck in the trials choose the best', () => {
    // Each checkpoint has luck in other trials; on the other half of the trials none is better.
    const lucky = (even: boolean): Passes =>
      Array.from({ length: 20 }, () => Array.from({ length: 8 }, (_, trial) => ((trial % 2 === 0) === even ? 1 : 0)));
    const passes = new Map([
      [0, passing(0)],
      [10, lucky(true)],
      [20, lucky(false)],
      [30, passing(4)],
    ]);
    expect(judgeGood(passes, watchOf(30), 1).belowBest.estimate).toBeLessThan(0);
  });

  it('says whether the training ended before its last iteration', () => {
    const stopped = (ended: TrainingWatch['ended']) => judged([2, 4, 4, 4, 4], watchOf(10, ended)).stoppedEarly;
    expect(stopped({ iteration: 20, why: 'loss' })).toBe(true);
    expect(stopped({ iteration: 40, why: 'loss' })).toBe(false);
    expect(stopped(null)).toBe(false);
  });

  it('is refused for a checkpoint that was not played', () => {
    expect(() => judgeGood(new Map([[0, passing(1)]]), watchOf(40), 1)).toThrow('iteration 40');
  });
});

test('the figures say which limits hold', () => {
  const wrong = judgeWrong(
    new Map([10, 20].map((iteration) => [iteration, [{ kind: 'x', tasks: 9, estimate: 0.3, low: 0.2, high: 0.4 }]])),
    watchOf(10, { iteration: 20, why: 'loss' }),
  );
  const good = judgeGood(new Map([0, 10, 20, 30, 40].map((iteration) => [iteration, passing(4)])), watchOf(40), 1);
  expect(figuresOf([wrong], [good, good])).toEqual({
    wrong: {
      ...{ trained: 1, harmfulAtTheEnd: 1, keptHarmless: 0, keptHarmlessButForChance: 0 },
      ...{ harmedBy20Points: 1, seenWithinTwoProbes: 1 },
    },
    good: { trained: 2, stoppedEarly: 0, keptBelowBest: 0, keptSurelyBelowBest: 0 },
    met: { keptHarmless: false, seenWithinTwoProbes: true, stoppedEarly: true, keptBelowBest: true },
  });
});
