// tier: unit
import { fleissKappa } from '../../../../activities/identify/verdicts/fleiss-kappa';
import { failuresNeeded } from '../../../../activities/identify/verdicts/failures-needed';
import { mergeRunPValues } from '../../../../activities/identify/verdicts/merge-p-values';
import { judgeCandidates, type RunFigures } from '../../../../activities/identify/verdicts/capability-verdict';
import type { VerdictRule } from '../../../../activities/identify/verdicts/verdict-rule';

const rule: VerdictRule = { minGap: 0.2, minCoverage: 0.1, runs: 10, quorum: 8, familywiseError: 0.05 };
const good: RunFigures = { gap: 0.4, coverage: 0.3, gapHigh: 0.5, coverageHigh: 0.36, pValue: 1e-6 };
const flat: RunFigures = { gap: 0.02, coverage: 0.3, gapHigh: 0.1, coverageHigh: 0.36, pValue: 0.4 };
const rare: RunFigures = { gap: 0.4, coverage: 0.04, gapHigh: 0.7, coverageHigh: 0.08, pValue: 0.01 };
const vague: RunFigures = { gap: 0.15, coverage: 0.3, gapHigh: 0.35, coverageHigh: 0.4, pValue: 0.1 };
const times = (n: number, run: RunFigures) => Array<RunFigures>(n).fill(run);
const kindOf = (...runs: RunFigures[][]) => judgeCandidates([runs.flat()], rule)[0]?.kind;

describe('one capability', () => {
  test('is kept with a quorum of passing runs, and the runs behind it cannot change that', () => {
    expect(kindOf(times(7, good))).toBeNull();
    expect(kindOf(times(8, good))).toBe('kept');
    expect(kindOf(times(8, good), times(2, flat))).toBe('kept');
  });

  test('is rejected when so many runs rule a threshold out that no quorum is left', () => {
    expect(kindOf(times(2, flat))).toBeNull();
    expect(judgeCandidates([times(3, flat)], rule)[0]).toMatchObject({ kind: 'rejected', missed: ['gap'] });
    expect(judgeCandidates([times(3, rare)], rule)[0]).toMatchObject({ kind: 'rejected', missed: ['coverage'] });
    expect(judgeCandidates([[...times(2, flat), rare]], rule)[0]).toMatchObject({
      kind: 'rejected',
      missed: ['gap', 'coverage'],
    });
  });

  test(
    'has not enough data when it misses a threshold by less than its uncertainty, and that takes all runs to ' + 'say',
    () => {
      expect(kindOf(times(7, vague))).toBeNull();
      expect(judgeCandidates([times(10, vague)], rule)[0]).toMatchObject({
        kind: 'not-enough-data',
        missed: ['gap'],
        runsPassed: 0,
      });
      expect(kindOf(times(8, vague))).toBe('not-enough-data');
    },
  );

  test('has not enough data when it passes but chance could have done it', () => {
    expect(judgeCandidates([times(10, { ...good, pValue: 0.2 })], rule)[0]).toMatchObject({
      kind: 'not-enough-data',
      missed: ['significance'],
      runsPassed: 10,
    });
  });

  test('with a single run that run decides', () => {
    const single = { ...rule, runs: 1, quorum: 1 };
    expect(judgeCandidates([[good], [flat], [vague]], single).map(({ kind }) => kind)).toEqual([
      'kept',
      'rejected',
      'not-enough-data',
    ]);
  });
});

test('the number of candidates counts: what one alone keeps, twenty together do not', () => {
  const borderline = times(8, { ...good, pValue: 0.004 });
  expect(judgeCandidates([borderline], rule)[0]?.kind).toBe('kept');
  const together = judgeCandidates(
    [borderline, ...Array.from({ length: 19 }, () => times(10, { ...vague, pValue: 0.6 }))],
    rule,
  );
  expect(together[0]?.kind).toBe('not-enough-data');
  expect(together[0]?.adjustedPValue).toBeCloseTo(20 * 1.25 * 0.004, 10);
});

test('a final verdict is the verdict of all runs, whatever the remaining ones say', () => {
  let seed = 1;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const kinds = [good, flat, rare, vague, { ...good, pValue: 0.02 }];
  for (let repetition = 0; repetition < 300; repetition++) {
    const all = Array.from({ length: 4 }, () => {
      const usual = kinds[Math.floor(random() * kinds.length)] as RunFigures;
      return Array.from({ length: 10 }, () =>
        random() < 0.7 ? usual : (kinds[Math.floor(random() * kinds.length)] as RunFigures),
      );
    });
    const full = judgeCandidates(all, rule).map(({ kind }) => kind);
    const made = all.map(() => [] as RunFigures[]);
    for (let run = 0; run < 10; run++) {
      judgeCandidates(made, rule).forEach(({ kind }, i) => {
        if (kind === null) made[i]?.push(all[i]?.[run] as RunFigures);
      });
    }
    expect(judgeCandidates(made, rule).map(({ kind }) => kind)).toEqual(full);
  }
});

test('p-values of runs are merged by the quorum-th smallest; runs to come bound it', () => {
  expect(mergeRunPValues([0.001, 0.5, 0.01], 3, 2)).toEqual({ low: 0.015, high: 0.015 });
  expect(mergeRunPValues([0.001], 3, 2)).toEqual({ low: 0, high: 1 });
  expect(mergeRunPValues([0.01, 0.02], 3, 2).low).toBeCloseTo(0.015, 10);
  expect(mergeRunPValues([0.01, 0.02], 3, 2).high).toBeCloseTo(0.03, 10);
});

describe("Fleiss' kappa", () => {
  // Three raters; votes of the four trajectories: 3 NA; 3 PRESENT; 3 LACKING; 2 NA and 1 PRESENT. By hand: (5/6 -
  // 50/144) / (1 - 50/144).
  const runs = [Uint8Array.of(1, 2, 3, 1), Uint8Array.of(1, 2, 3, 1), Uint8Array.of(1, 2, 3, 2)];

  test('of a table that can be counted by hand', () => {
    expect(fleissKappa(runs)).toBeCloseTo((5 / 6 - 50 / 144) / (1 - 50 / 144), 10);
  });

  test('leaves out what fewer than two runs labelled', () => {
    expect(fleissKappa(runs.map((run, i) => Uint8Array.of(...run, i === 0 ? 3 : 0)))).toBeCloseTo(
      fleissKappa(runs) as number,
      10,
    );
  });

  test('is unknown for one run and for one label', () => {
    expect(fleissKappa(runs.slice(0, 1))).toBeNull();
    expect(fleissKappa([Uint8Array.of(1, 1), Uint8Array.of(1, 1)])).toBeNull();
  });
});

describe('failures that a verdict still needs', () => {
  const interval = (estimate: number, half: number) => ({ estimate, low: estimate - half, high: estimate + half });
  const wide = {
    failures: 100,
    adjustedPValue: 1e-9,
    candidates: 1,
    missed: ['gap' as const],
    coverage: interval(0.3, 0.05),
  };

  test('grow with the square of the width over the distance', () => {
    expect(failuresNeeded({ ...wide, gap: interval(0.1, 0.2) }, rule)).toBeGreaterThanOrEqual(300);
    expect(failuresNeeded({ ...wide, gap: interval(0.15, 0.1) }, rule)).toBeLessThanOrEqual(301);
  });

  test('are unknown where there is no gap or it lies on the threshold', () => {
    expect(failuresNeeded({ ...wide, gap: null }, rule)).toBeNull();
    expect(failuresNeeded({ ...wide, gap: interval(0.199, 0.2) }, rule)).toBeNull();
  });

  test('follow from the p-value where only chance stands against it', () => {
    const needed = failuresNeeded(
      { ...wide, missed: ['significance'], adjustedPValue: 0.2, gap: interval(0.4, 0.5) },
      rule,
    );
    expect(needed).toBeGreaterThan(250);
    expect(needed).toBeLessThan(300);
    // What is adjusted for six candidates is less unlikely than it looks, and has less far to go.
    const among = failuresNeeded(
      { ...wide, missed: ['significance'], adjustedPValue: 0.2, candidates: 6, gap: interval(0.4, 0.5) },
      rule,
    );
    expect(among).toBeLessThan(100);
  });
});
