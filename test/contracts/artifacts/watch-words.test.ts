// Tier: unit
import type { ProbePairs, TrainingWatch } from '../../../contracts/artifacts/training';
import { pairedGain, sawHarm, watchClause } from '../../../contracts/artifacts/watch-words';

const pairs = (rollouts: number, basePassed: number, passed: number): ProbePairs => ({
  ...{ rollouts, passed, basePassed },
  lost: Math.max(0, basePassed - passed),
});
const probe = (iteration: number, others: ProbePairs) => ({
  ...{ iteration, others },
  reward: 0.5,
  calledFor: pairs(8, 2, 6),
});
const watch = (change: Partial<TrainingWatch>): TrainingWatch => ({
  margin: 0.05,
  tasks: { calledFor: 40, others: 60 },
  probes: [probe(10, pairs(12, 9, 9)), probe(20, pairs(24, 20, 14))],
  ended: null,
  kept: 20,
  ...{ rollouts: 52, completionTokens: 900, seconds: 2 },
  ...change,
});

test.each<[string, Partial<TrainingWatch>, string | null]>([
  ['the last checkpoint of a whole training', {}, null],
  ['an earlier checkpoint of it', { kept: 10 }, 'kept iteration 10 of 20'],
  ['no checkpoint of it', { kept: 0 }, 'the probes find base better than each checkpoint; no checkpoint is kept'],
  [
    'a loss',
    { ended: { iteration: 20, why: 'loss' }, kept: 10 },
    'ended at iteration 20: tasks that do not need it lost 25 points (20 of 24 passed before, 14 now); kept iteration 10',
  ],
  [
    'a target that stands',
    { ended: { iteration: 20, why: 'no-gain' } },
    'ended at iteration 20: neither target nor reward rose any more; kept iteration 20',
  ],
])('%s', (_, change, clause) => {
  expect(watchClause(watch(change))).toBe(clause);
});

test('only a loss is harm', () => {
  expect(sawHarm({ ended: { iteration: 9, why: 'loss' } })).toBe(true);
  expect(sawHarm({ ended: { iteration: 9, why: 'no-gain' } })).toBe(false);
  expect(sawHarm({ ended: null })).toBe(false);
});

test('no tasks have no gain', () => {
  expect(pairedGain(pairs(0, 0, 0))).toBe(0);
  expect(pairedGain(pairs(8, 2, 6))).toBe(0.5);
});
