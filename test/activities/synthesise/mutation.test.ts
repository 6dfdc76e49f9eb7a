// Tier: unit.
import { nextAfter } from '../../../activities/synthesise/mutation';
import type { CalibrationResult } from '../../../contracts/artifacts/environment-attempt';

type Verdict = CalibrationResult['verdict'];
const after = (outOfBand: number, verdict: Verdict, faulty = false) => {
  const next = nextAfter(outOfBand, { faulty, verdict });
  return next.kind === 'mutate' ? next.mutation.name : next.kind;
};
const names = (verdict: Verdict) => [1, 2, 3, 4, 5, 6].map((outOfBand) => after(outOfBand, verdict));

test('out of band is mutated twice, each time in another way, then written anew, and the new one mutated again', () => {
  expect(names('too-easy')).toEqual(['distractors', 'longer horizon', 'anew', 'decoys', 'renamed entities', 'anew']);
  expect(names('too-hard')).toEqual([
    'fewer distractors',
    'shorter horizon',
    'anew',
    'finer credit',
    'plainer requests',
    'anew',
  ]);
  // There are two ways only; a new environment begins with the first again.
  expect(names('uninformative')).toEqual([
    'mixed difficulty',
    'finer credit',
    'anew',
    'mixed difficulty',
    'finer credit',
    'anew',
  ]);
});

test('what failed a check is corrected, not mutated', () => {
  expect(nextAfter(0, null)).toEqual({ kind: 'correct' });
});

test('what raised, died or hung in its calibration is corrected, whatever its figures', () => {
  for (const outOfBand of [0, 1, 2, 3]) expect(after(outOfBand, 'uninformative', true)).toBe('correct');
});
