// tier: unit
import {
  contrastCandidates,
  rankKept,
  undecidedCandidates,
} from '../../../../activities/identify/verdicts/contrast-candidates';
import { contrastSchema } from '../../../../contracts/artifacts/identification';
import { labelsFrom, outcomesFrom, type LabelCounts } from './labels-from-counts';
import type { VerdictRule } from '../../../../activities/identify/verdicts/verdict-rule';

const outcomes = outcomesFrom(200, 200);
const rule: VerdictRule = { minGap: 0.2, minCoverage: 0.1, runs: 1, quorum: 1, familywiseError: 0.05 };
const counts = (
  successLacking: number,
  successApplicable: number,
  failureLacking: number,
  failureApplicable: number,
): LabelCounts => ({
  successLacking,
  successApplicable,
  failureLacking,
  failureApplicable,
});
const contrast = (...runs: LabelCounts[]) => {
  const [result] = contrastCandidates([{ id: 'c', labels: runs.map((run) => labelsFrom(outcomes, run)) }], outcomes, {
    ...rule,
    runs: runs.length,
    quorum: Math.ceil(0.8 * runs.length),
  });
  return contrastSchema.parse(result);
};

test('rates are shares of the episodes that called for it, coverage is a share of all failures', () => {
  const result = contrast(counts(5, 100, 60, 120));
  expect(result).toMatchObject({
    errorRateSuccess: 0.05,
    errorRateFailure: 0.5,
    gap: 0.45,
    coverage: 0.3,
    kept: true,
    runsPassed: 1,
    agreement: null,
  });
  expect(result.reason).toBe(
    'Kept: where it is called for, failures lack it 50.0 %, successes 5.0 %, and 30.0 % of all failures lack it. ' +
      'With the other labels held, its lack adds 53.6 points to the risk of failure (95 % interval 41.3 to 62.2).',
  );
});

test('a threshold that is met exactly is met', () => {
  expect(contrast(counts(0, 100, 20, 100))).toMatchObject({ gap: 0.2, coverage: 0.1, kept: true });
  expect(contrast(counts(20, 200, 60, 200)).runs[0]).toMatchObject({ passed: true });
});

test('equally lacking in both is rejected for its gap', () => {
  const result = contrast(counts(80, 200, 80, 200));
  expect(result).toMatchObject({ gap: 0, verdict: 'rejected', missed: ['gap'], moreFailures: null });
  expect(result.reason).toMatch(
    /^Rejected: failures lack it 40\.0 % and successes 40\.0 %: the gap of 0\.0 points \(95 % interval -\d+\.\d to \d+\.\d\) is below 20\.0\.$/,
  );
});

test('too rare is rejected for its coverage', () => {
  const result = contrast(counts(0, 3, 5, 5));
  expect(result).toMatchObject({ gap: 1, coverage: 0.025, verdict: 'rejected', missed: ['coverage'] });
  expect(result.reason).toContain('2.5 % of all failures lack it');
  expect(result.reason).toContain('which is below 10.0 %');
});

test('too near a threshold is not enough data, with the number of failures that would be', () => {
  const result = contrast(counts(30, 100, 42, 100));
  expect(result).toMatchObject({ verdict: 'not-enough-data', missed: ['gap'], kept: false });
  expect(result.moreFailures).toBeGreaterThan(100);
  expect(result.reason).toContain(`About ${result.moreFailures} more failed trajectories are needed to tell.`);
});

test.each([
  ['no success called for it', counts(0, 0, 30, 40)],
  ['no failure called for it', counts(3, 9, 0, 0)],
  ['no episode called for it', counts(0, 0, 0, 0)],
])('%s: nothing to contrast', (sentence, c) => {
  const result = contrast(c);
  expect(result).toMatchObject({ gap: null, kept: false, moreFailures: null, adjustedPValue: 1 });
  expect(result.intervals.gap).toBeNull();
  expect(result.reason).toContain(sentence);
});

test('several runs have a mean, a spread and an agreement', () => {
  const result = contrast(
    counts(10, 100, 60, 100),
    counts(10, 100, 50, 100),
    counts(10, 100, 55, 100),
    counts(10, 100, 55, 100),
    counts(10, 100, 55, 100),
  );
  expect(result.gap).toBeCloseTo(0.45, 10);
  expect(result.standardDeviation.gap).toBeCloseTo(Math.sqrt((2 * 0.05 ** 2) / 4), 10);
  expect(result.agreement).toBeGreaterThan(0.9);
  expect(result.runs.map(({ passed }) => passed)).toEqual([true, true, true, true, true]);
  expect(result.reason).toContain('; 5 of 5 runs passed.');
});

test('labels that could not be obtained count for nothing', () => {
  const codes = labelsFrom(outcomes, counts(5, 100, 60, 120));
  codes[0] = 0;
  const [result] = contrastCandidates([{ id: 'c', labels: [codes] }], outcomes, rule);
  expect(result?.runs[0]?.counts).toMatchObject({ failureLacking: 59, failureApplicable: 119, unlabelled: 1 });
});

test('only candidates whose verdict is open need another run', () => {
  const candidate = (id: string, made: number, c: LabelCounts) => ({
    id,
    labels: Array.from({ length: made }, () => labelsFrom(outcomes, c)),
  });
  const ten = { ...rule, runs: 10, quorum: 8 };
  const all = (made: number) => [
    candidate('clear', made, counts(5, 100, 60, 120)),
    candidate('flat', made, counts(80, 200, 80, 200)),
    candidate('vague', made, counts(30, 100, 42, 100)),
  ];
  expect(undecidedCandidates(all(2), outcomes, ten)).toEqual(['clear', 'flat', 'vague']);
  expect(undecidedCandidates(all(3), outcomes, ten)).toEqual(['clear', 'vague']);
  expect(undecidedCandidates(all(7), outcomes, ten)).toEqual(['clear', 'vague']);
  expect(undecidedCandidates(all(8), outcomes, ten)).toEqual([]);
});

test('kept ones are ordered by gap times coverage, ties by id', () => {
  const all = {
    b: counts(0, 50, 60, 120),
    a: counts(0, 50, 60, 120),
    top: counts(0, 50, 120, 120),
    no: counts(50, 50, 100, 100),
  };
  const results = Object.entries(all).flatMap(([id, c]) =>
    contrastCandidates([{ id, labels: [labelsFrom(outcomes, c)] }], outcomes, rule),
  );
  expect(rankKept(results)).toEqual(['top', 'a', 'b']);
});

test('a companion and an inseparable candidate say with whom they go', () => {
  const labels = labelsFrom(outcomes, counts(0, 100, 100, 100));
  const twins = contrastCandidates(
    [
      { id: 'first', labels: [labels] },
      { id: 'second', labels: [labels] },
    ],
    outcomes,
    rule,
  );
  expect(twins.map(({ verdict }) => verdict)).toEqual(['kept', 'not-enough-data']);
  expect(twins[1]).toMatchObject({
    missed: ['separation'],
    moreFailures: null,
    reason: 'Not enough data: the episodes cannot tell its effect from that of first.',
  });
});

test('a capability that every episode lacks, and that fails them, is not trainable', () => {
  const some = outcomesFrom(60, 140);
  const [found] = contrastCandidates(
    [{ id: 'code', labels: [labelsFrom(some, counts(0, 0, 30, 30))] }],
    some,
    rule,
  ).map((one) => contrastSchema.parse(one));
  expect(found).toMatchObject({ verdict: 'not-trainable', kept: false, missed: [], moreFailures: null });
  expect(found!.reason).toBe(
    'Not trainable: 30 episodes call for it, and all lack it and fail. Training has no success to learn from. Perhaps ' +
      'no tool gives what it needs.',
  );
});

test('a rare lack that decides its episodes is kept, and the reason says why', () => {
  const some = outcomesFrom(100, 300);
  const [found] = contrastCandidates([{ id: 'date', labels: [labelsFrom(some, counts(0, 8, 8, 8))] }], some, rule).map(
    (one) => contrastSchema.parse(one),
  );
  expect(found).toMatchObject({ verdict: 'kept', kept: true, missed: ['coverage'] });
  expect(found!.reason).toContain(
    'The contrast alone cannot tell, but its lacks fail more often than the rest explains.',
  );
});
