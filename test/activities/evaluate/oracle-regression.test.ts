// tier: unit
import { oracleRates } from '../../../activities/evaluate/oracle';
import { armTable } from '../../../activities/evaluate/outcome-table';
import { mean } from '../../../activities/statistics/mean';
import { regressionAgainstBase } from '../../../activities/evaluate/regression';
import { drawTable, type Kind } from './population';

const oracleOf = (kinds: Kind[], tasks: number, trials: number, seed: number) => {
  const table = drawTable(kinds, tasks, trials, seed);
  const { attainable, ceiling } = oracleRates(
    [...table.arms.values()],
    table.tags.map((tags) => tags.join()),
  );
  return { attainable: mean(attainable), ceiling: mean(ceiling) };
};

describe('oracleRates', () => {
  const skills: Kind[] = [
    { share: 0.5, tags: ['a'], pass: { base: 0.2, first: 0.9, second: 0.1 } },
    { share: 0.5, tags: ['b'], pass: { base: 0.2, first: 0.1, second: 0.9 } },
  ];

  it('does not count luck: arms that are all alike give their common rate, where the usual maximum does not', () => {
    const alike: Kind[] = [{ share: 1, tags: ['a'], pass: { base: 0.3, first: 0.3, second: 0.3, third: 0.3 } }];
    const { attainable, ceiling } = oracleOf(alike, 2000, 2, 1);
    expect(attainable).toBeCloseTo(0.3, 1);
    expect(ceiling).toBeGreaterThan(0.6);
  });

  it.each([1, 2, 4])('finds what perfect routing reaches with %d trials', (trials) => {
    const { attainable, ceiling } = oracleOf(skills, 2000, trials, 2);
    expect(Math.abs(attainable - 0.9)).toBeLessThan(0.025);
    expect(ceiling).toBeGreaterThanOrEqual(attainable);
  });

  it('stays below the truth when tasks of one kind differ and nothing tells them apart', () => {
    const hidden = skills.map((kind) => ({ ...kind, tags: ['same'] }));
    const { attainable, ceiling } = oracleOf(hidden, 2000, 2, 3);
    expect(attainable).toBeLessThan(0.9);
    expect(attainable).toBeGreaterThan(0.5);
    expect(ceiling).toBeGreaterThan(0.9);
  });
});

describe('regressionAgainstBase', () => {
  const equal: Kind[] = [
    { share: 0.5, tags: [], pass: { base: 0.4, routed: 0.4 } },
    { share: 0.5, tags: [], pass: { base: 0.9, routed: 0.9 } },
  ];
  const options = { samples: 500, confidence: 0.95, seed: 4 };
  const run = (kinds: Kind[], tasks: number, trials: number, seed: number) => {
    const table = drawTable(kinds, tasks, trials, seed);
    return regressionAgainstBase(armTable(table, 'base'), armTable(table, 'routed'), options);
  };

  it('sees no loss between equal arms, on average and in its interval', () => {
    const results = Array.from({ length: 200 }, (_, seed) => run(equal, 150, 2, seed));
    expect(Math.abs(mean(results.map((r) => r.loss.estimate)))).toBeLessThan(0.012);
    // One-sided error rate: nominal 0.025.
    expect(mean(results.map((r) => (r.significant ? 1 : 0)))).toBeLessThan(0.07);
  });

  it('would see one with selection and comparison on the same trial', () => {
    const result = run(equal, 2000, 1, 7);
    expect(result.loss.estimate).toBeGreaterThan(0.15);
  });

  it('finds a real loss', () => {
    const worse: Kind[] = [{ share: 1, tags: [], pass: { base: 0.8, routed: 0.6 } }];
    const result = run(worse, 400, 3, 8);
    expect(result.loss.estimate).toBeCloseTo(0.2, 1);
    expect(result.significant).toBe(true);
  });

  it('counts by hand', () => {
    // Task 0: base 1,1: both trials count, routed lost the second. Task 1: base 1,0: trial 1 counts (base passed trial
    // 0), nothing lost. Task 2: base 0,0: not selected.
    const result = regressionAgainstBase(
      {
        name: 'base',
        passes: [
          [1, 1],
          [1, 0],
          [0, 0],
        ],
      },
      {
        name: 'routed',
        passes: [
          [1, 0],
          [1, 0],
          [1, 1],
        ],
      },
      options,
    );
    expect(result.tasks).toBe(2);
    expect(result.loss.estimate).toBeCloseTo(1 / 3, 12);
  });

  it('says nothing when base passes nothing', () => {
    const result = regressionAgainstBase(
      { name: 'base', passes: [[0, 0]] },
      { name: 'routed', passes: [[1, 1]] },
      options,
    );
    expect(result).toEqual({ tasks: 0, loss: { estimate: 0, low: 0, high: 0 }, significant: false });
  });
});
