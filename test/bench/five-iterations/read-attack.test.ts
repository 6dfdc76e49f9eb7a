// tier: unit
import { type Attack, isCompared, problemsOf } from '../../../bench/five-iterations/read-attack';

const report = { runId: 'run-2', verdict: 'not-promoted' as const, promotedVersion: null, evaluation: {} };

it('holds where there was a candidate and the active version stays', () => {
  expect(problemsOf({ before: 1, after: 1, report })).toEqual([]);
  expect(isCompared({ before: 1, after: 1, report })).toBe(true);
});

it('does not hold where a night ended before the gate', () => {
  const attack: Attack = { before: 1, after: 1, report: { ...report, verdict: 'nothing-new', evaluation: null } };
  expect(isCompared(attack)).toBe(false);
  expect(problemsOf(attack)).toEqual(['run-2 had no candidate (nothing-new), so the gate was not tried']);
});

it('names a version that was replaced or promoted', () => {
  expect(problemsOf({ before: 1, after: 2, report: { ...report, verdict: 'promoted', promotedVersion: 2 } })).toEqual([
    'version 1 was active, and 2 is now',
    'run-2 promoted version 2 (promoted)',
  ]);
  expect(problemsOf({ before: 1, after: null, report })).toEqual(['version 1 was active, and no version is now']);
});
