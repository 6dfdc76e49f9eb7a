// tier: unit
import { evaluationSummary } from '../../../activities/evaluate/compare-arms';
import { evaluateTable } from '../../../activities/evaluate/evaluate-table';
import { pairOutcomes } from '../../../activities/evaluate/outcome-table';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import { sampleAdapter, samplePlan, sampleRouterChoice } from './sample-evaluation';

const ADAPTER = sampleAdapter({ id: 'a' }) as TrainedAdapter;

/** Base passes the first `passed` of 60 tasks, an agent that does nothing those in `nothing`. */
function evaluate(passed: number, nothing?: ReadonlyMap<number, boolean>) {
  const seeds = Array.from({ length: 60 }, (_, seed) => seed);
  const arms = ['base', ADAPTER.name, 'routed'].map((name) => ({
    name,
    outcomes: seeds.map((seed) => ({ task: { seed }, trial: 0, success: seed < passed, tags: [] })),
  }));
  return evaluateTable(pairOutcomes(arms, 1), {
    ...{ capabilities: [{ id: 'a', name: 'a', summary: 'a' }], adapters: [ADAPTER], routing: [] },
    ...{ routerChoice: sampleRouterChoice(), readsTags: false, allOf: 1, seed: 1 },
    ...{ bootstrapSamples: 500, confidence: 0.95, plan: samplePlan({ trials: 1 }) },
    judging: samplePlan({ trials: 1 }).judging,
    ...(nothing && { nothing }),
  });
}

const passing = (...which: number[]) => new Map(Array.from({ length: 60 }, (_, seed) => [seed, which.includes(seed)]));
const warning = /^Base is not clearly better than an agent that says one neutral sentence and calls no tool/;

test('base is compared with an agent that does nothing, on the tasks on which that one has a result', () => {
  const known = passing(0, 1, 59);
  known.delete(2);
  const figures = evaluate(30, known);
  expect(figures.doNothing).toMatchObject({
    tasks: 59,
    passRate: { estimate: 3 / 59 },
    baseMinus: { estimate: (29 - 3) / 59 },
  });
  expect(figures.doNothing!.baseMinus.low).toBeGreaterThan(0);
  expect(figures.caveats.filter((one) => warning.test(one))).toEqual([]);
  expect(evaluationSummary(figures)).toMatch(/; an agent that does nothing 5\.1 % \(\d+\.\d % to \d+\.\d %\)$/);
});

test('a base that is not clearly better is said, with the rate', () => {
  const { doNothing, caveats } = evaluate(4, passing(0, 1, 59));
  expect(doNothing!.baseMinus.low).toBeLessThanOrEqual(0);
  expect(caveats.find((one) => warning.test(one))).toMatch(/which passes 5\.0 % \(.*\) of 60 tasks\./);
});

test('without its outcomes there is nothing to say', () => {
  expect(evaluate(30).doNothing).toBeUndefined();
  expect(evaluate(30, new Map()).doNothing).toBeUndefined();
  expect(evaluationSummary(evaluate(30))).not.toContain('nothing');
});

test('the other figures do not depend on it', () => {
  const { doNothing: _, ...figures } = evaluate(30, passing(0, 1, 59));
  expect(figures).toEqual(evaluate(30));
});
