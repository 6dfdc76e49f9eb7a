// tier: unit
import { evaluateTable } from '../../../activities/evaluate/evaluate-table';
import { type ArmTable, armTable, type Outcome, pairOutcomes } from '../../../activities/evaluate/outcome-table';
import { oracleRates } from '../../../activities/evaluate/oracle';
import { regressionAgainstBase } from '../../../activities/evaluate/regression';
import { sureLoss } from '../../../activities/evaluate/sure-loss';
import { bootstrapMean } from '../../../activities/statistics/bootstrap';
import { mean } from '../../../activities/statistics/mean';
import { randomSource } from '../../../activities/statistics/random';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import { drawOutcomes, type Kind } from './population';
import { sampleAdapter, samplePlan, sampleRouterChoice } from './sample-evaluation';

const bootstrap = { samples: 500, confidence: 0.95, seed: 4 };
const arm = (name: string, passes: (number | null)[][]): ArmTable => ({ name, passes });

/** These arms with trials that fail at random, each with this chance. */
function failAtRandom(arms: readonly { name: string; outcomes: readonly Outcome[] }[], chance: number, seed: number) {
  const random = randomSource(seed);
  return arms.map(({ name, outcomes }) => ({
    name,
    outcomes: outcomes.map((one) => (random.uniform() < chance ? { ...one, failedBecause: 'judge' } : one)),
  }));
}

describe('pairOutcomes', () => {
  const outcomes = (seed: number, ...trials: (boolean | null)[]): Outcome[] =>
    trials.map((passed, trial) => ({
      ...{ task: { seed }, trial, success: passed === true, tags: passed === null ? [] : ['a'] },
      ...(passed === null && { failedBecause: 'judge' }),
    }));

  test('a failed trial has no result, and a task needs one in every arm', () => {
    const table = pairOutcomes(
      [
        {
          name: 'base',
          outcomes: [...outcomes(1, null, true), ...outcomes(2, true, true), ...outcomes(3, null, null)],
        },
        {
          name: 'routed',
          outcomes: [...outcomes(1, true, false), ...outcomes(2, null, null), ...outcomes(3, true, true)],
        },
      ],
      2,
    );
    expect(table).toMatchObject({ seeds: [1], tags: [['a']], dropped: 0, failed: 2 });
    expect(table.arms.get('base')!.passes).toEqual([[null, 1]]);
    expect(table.arms.get('routed')!.passes).toEqual([[1, 0]]);
  });

  test('a trial that was never run is another fault than one that failed', () => {
    const both = (...own: Outcome[]) => ['base', 'routed'].map((name) => ({ name, outcomes: own }));
    const table = pairOutcomes(both(...outcomes(1, null, true), ...outcomes(2, true)), 2);
    expect(table).toMatchObject({ seeds: [1], dropped: 1, failed: 0 });
  });
});

describe('figures with gaps', () => {
  test('a loss is compared on trials with a result in both arms, and selected without the others', () => {
    const loss = (base: (number | null)[], routed: (number | null)[]) =>
      regressionAgainstBase(arm('base', [base]), arm('routed', [routed]), bootstrap);
    expect(loss([1, 1, null], [0, 0, 0])).toMatchObject({ tasks: 1, loss: { estimate: 1 } });
    expect(loss([1, 1, null], [null, null, 0])).toMatchObject({ tasks: 0 });
    // The only result of base would both select and be compared.
    expect(loss([1, null, null], [0, 0, 0])).toMatchObject({ tasks: 0 });
  });

  test('a sure task has two results or more in both arms', () => {
    const sure = (base: (number | null)[][], routed: (number | null)[][]) =>
      sureLoss(
        arm('base', base),
        arm('routed', routed),
        base.map(() => 'a'),
      );
    const rest = [
      [0, 0, 0],
      [0, 1, 0],
    ];
    expect(sure([[1, 1, null], ...rest], [[0, 0, null], ...rest])).toMatchObject({ tasks: 1, lost: 1 });
    expect(sure([[1, null, null], ...rest], [[0, 0, 0], ...rest])).toBeNull();
    expect(sure([[1, 1, 1], ...rest], [[0, null, null], ...rest])).toBeNull();
  });

  test('fewer results of a task are lost by luck more often', () => {
    const luckOf = (routed: (number | null)[]) =>
      sureLoss(
        arm('base', [
          [1, 1, 1],
          [1, 0, 1],
          [0, 0, 1],
          [0, 0, 0],
        ]),
        arm('routed', [routed, [0, 0, 0], [0, 0, 0], [0, 0, 0]]),
        ['a', 'a', 'a', 'a'],
      )!.luck;
    expect(luckOf([0, 0, null])).toBeGreaterThan(luckOf([0, 0, 0]));
  });

  test('the oracle counts only results', () => {
    const { attainable, ceiling } = oracleRates(
      [
        arm('base', [
          [null, 1],
          [0, 0],
        ]),
        arm('a', [
          [0, null],
          [1, 1],
        ]),
      ],
      ['x', 'x'],
    );
    expect(ceiling).toEqual([1, 1]);
    expect(attainable.every((rate) => rate >= 0 && rate <= 1)).toBe(true);
  });
});

describe('one episode in ten fails at random', () => {
  const KINDS: Kind[] = [
    { share: 0.5, tags: [], pass: { base: 0.2, [sampleAdapter({ id: 'a' }).name]: 0.6, routed: 0.6 } },
    { share: 0.5, tags: [], pass: { base: 0.7, [sampleAdapter({ id: 'a' }).name]: 0.6, routed: 0.7 } },
  ];
  const drawn = (seed: number, tasks: number, trials: number, chance: number) =>
    pairOutcomes(failAtRandom(drawOutcomes(KINDS, tasks, trials, seed), chance, seed + 1000), trials);

  test.each([1, 2, 4])('with %d trials, intervals cover the true gain as often as they say', (trials) => {
    const truth = 0.2;
    const covered = Array.from({ length: 200 }, (_, seed) => {
      const table = drawn(seed, 100, trials, 0.1);
      const rates = (name: string) => armTable(table, name).passes.map((one) => mean(one.filter((p) => p !== null)));
      const routed = rates('routed');
      const gains = rates('base').map((rate, task) => routed[task]! - rate);
      const { low, high } = bootstrapMean(gains, [-1, 1], { ...bootstrap, seed });
      return low <= truth && truth <= high ? 1 : 0;
    });
    expect(mean(covered)).toBeGreaterThan(0.9);
  });

  test('equal arms show no loss where trials fail', () => {
    const equal: Kind[] = [
      { share: 0.5, tags: [], pass: { base: 0.4, routed: 0.4 } },
      { share: 0.5, tags: [], pass: { base: 0.9, routed: 0.9 } },
    ];
    const losses = Array.from({ length: 200 }, (_, seed) => {
      const table = pairOutcomes(failAtRandom(drawOutcomes(equal, 100, 3, seed), 0.1, seed + 9), 3);
      return regressionAgainstBase(armTable(table, 'base'), armTable(table, 'routed'), { ...bootstrap, samples: 200 });
    });
    expect(Math.abs(mean(losses.map(({ loss }) => loss.estimate)))).toBeLessThan(0.012);
    expect(mean(losses.map(({ significant }) => (significant ? 1 : 0)))).toBeLessThan(0.07);
  });

  const evaluate = (chance: number, counts?: Record<string, Record<string, number>>) => {
    const failed = counts && new Map(Object.entries(counts));
    const table = drawn(1, 60, 4, chance);
    return evaluateTable(table, {
      ...{
        capabilities: [{ id: 'a', name: 'a', summary: 'a' }],
        adapters: [sampleAdapter({ id: 'a' }) as TrainedAdapter],
      },
      ...{ routing: [], routerChoice: sampleRouterChoice(), readsTags: false, allOf: 4, seed: 1 },
      ...{ bootstrapSamples: 200, confidence: 0.95, plan: samplePlan({ trials: 4 }) },
      judging: samplePlan({ trials: 4 }).judging,
      ...(failed && { failed }),
    });
  };

  test('an evaluation says how many failed in each arm, and rests on the others', () => {
    const figures = evaluate(0.1, { base: { judge: 20 }, routed: { judge: 26, simulator: 1 } });
    expect(figures.base.failed).toEqual({ judge: 20 });
    expect(figures.base.episodes).toBeLessThan(60 * 4);
    expect(figures.base.passedAll).toBeDefined();
    expect(figures.caveats.join(' ')).toContain(
      'of 240 episodes of each arm, base 20 failed (20 judge); routed 27 failed (26 judge, 1 simulator).',
    );
    expect(figures.caveats.join(' ')).not.toContain('flatter');
  });

  test('more failures of routed than chance explains are said to flatter it', () => {
    const caveats = evaluate(0.1, { base: { judge: 2 }, routed: { simulator: 40 } }).caveats.join(' ');
    expect(caveats).toContain('Routed failed more often than base');
  });

  test('without failures no figure has a word about them', () => {
    const figures = evaluate(0);
    expect(figures.base).not.toHaveProperty('failed');
    expect(figures.base.episodes).toBe(60 * 4);
    expect(figures.caveats.join(' ')).not.toContain('failed');
  });
});
