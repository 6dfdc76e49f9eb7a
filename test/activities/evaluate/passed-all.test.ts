// tier: unit
import { evaluateTable, passedAll } from '../../../activities/evaluate/evaluate-table';
import { pairOutcomes } from '../../../activities/evaluate/outcome-table';
import { sampleAdapter, samplePlan, sampleRouterChoice } from './sample-evaluation';

it.each([
  // C(3, 2) / C(4, 2) = 3 / 6; C(4, 3) / C(5, 3) = 4 / 10; C(2, 2) / C(3, 2) = 1 / 3.
  [[1, 1, 1, 0], 2, 1 / 2],
  [[1, 1, 0, 1, 1], 3, 2 / 5],
  [[0, 1, 1], 2, 1 / 3],
  [[1, 0, 0], 2, 0],
  [[0, 0, 0], 3, 0],
  [[1, 1, 1], 3, 1],
  [[1, 1, 0], 3, 0],
  [[1, 0], 1, 1 / 2],
])('pass^k of %j with k = %i is %d', (trials, k, expected) => {
  expect(passedAll(trials, k)).toBeCloseTo(expected, 12);
});

it('needs k trials', () => {
  expect(() => passedAll([1, 1], 3)).toThrow('pass^3 needs 3 trials, not 2.');
});

describe('pass^k of the arms', () => {
  const adapter = sampleAdapter({ id: 'a' });
  const arm = (name: string, passes: number[][]) => ({
    name,
    outcomes: passes.flatMap((trials, task) =>
      trials.map((pass, trial) => ({ task: { seed: 1000 + task }, trial, success: pass === 1, tags: [] })),
    ),
  });
  const BASE = [
    [1, 1, 1],
    [1, 1, 0],
    [0, 0, 1],
    [0, 0, 0],
  ];
  const BETTER = [
    [1, 1, 1],
    [1, 1, 1],
    [1, 0, 1],
    [0, 1, 0],
  ];
  const evaluate = (trials: number, allOf = trials) => {
    const cut = (passes: number[][]) => passes.map((one) => one.slice(0, trials));
    const arms = [arm('base', cut(BASE)), arm('routed', cut(BETTER)), arm(adapter.name, cut(BETTER))];
    return evaluateTable(pairOutcomes(arms, trials), {
      capabilities: [{ id: 'a', name: 'a', summary: 'a' }],
      adapters: [adapter as never],
      routing: [],
      allOf,
      plan: samplePlan(),
      judging: samplePlan().judging,
      routerChoice: sampleRouterChoice(),
      ...{ readsTags: false, bootstrapSamples: 1000, confidence: 0.95, seed: 1 },
    });
  };

  it('is the share of tasks passed in every trial, where k is the number of trials', () => {
    const { base, routed, oracle, allOf } = evaluate(3);
    expect(base.passedAll?.estimate).toBeCloseTo(1 / 4, 12);
    expect(routed.passedAll?.estimate).toBeCloseTo(2 / 4, 12);
    expect(oracle.passedAll).toBeUndefined();
    expect(allOf).toBeUndefined();
    expect(evaluate(2, 2).base.passedAll?.estimate).toBeCloseTo(2 / 4, 12);
  });

  it('stays pass^2 where a third trial was planned, so that runs can be compared', () => {
    const { base, routed, trials, allOf } = evaluate(3, 2);
    // Base: (1 + 1/3 + 0 + 0) / 4. Routed: (1 + 1 + 1/3 + 0) / 4.
    expect(base.passedAll?.estimate).toBeCloseTo(1 / 3, 12);
    expect(routed.passedAll?.estimate).toBeCloseTo(7 / 12, 12);
    expect([trials, allOf]).toEqual([3, 2]);
  });
});
