// tier: unit
import { comparePlanted } from '../../../../activities/identify/results/compare-planted';

const set = (...items: number[]) => new Set(items);
const sets = (entries: Record<string, ReadonlySet<number>>) => new Map(Object.entries(entries));

test('matching goes by trajectories, not by names', () => {
  const planted = comparePlanted({
    planted: ['p'],
    decoys: [],
    kept: ['other-name'],
    labelled: sets({ 'other-name': set(1, 2, 3) }),
    truth: sets({ p: set(1, 2, 3, 4) }),
  });
  expect(planted).toEqual({
    found: [{ planted: 'p', capabilityId: 'other-name', jaccard: 0.75 }],
    missed: [],
    invented: [],
    decoysKept: [],
  });
});

test('one to one, the best agreement first', () => {
  const { found, missed, invented } = comparePlanted({
    planted: ['p', 'q'],
    decoys: [],
    kept: ['good', 'better'],
    labelled: sets({ good: set(1, 2, 3), better: set(1, 2, 3, 4) }),
    truth: sets({ p: set(1, 2, 3, 4), q: set(9) }),
  });
  expect(found.map(({ planted, capabilityId }) => [planted, capabilityId])).toEqual([['p', 'better']]);
  expect(missed).toEqual(['q']);
  expect(invented).toEqual(['good']);
});

test('half the agreement is enough, less is not', () => {
  const compare = (...labelled: number[]) =>
    comparePlanted({
      planted: ['p'],
      decoys: [],
      kept: ['c'],
      labelled: sets({ c: set(...labelled) }),
      truth: sets({ p: set(1, 2) }),
    }).found;
  expect(compare(1)).toHaveLength(1);
  expect(compare(1, 3)).toHaveLength(0);
});

test('a kept decoy is named as such and matches no planted deficit', () => {
  const result = comparePlanted({
    planted: ['p'],
    decoys: ['d', 'e'],
    kept: ['c'],
    labelled: sets({ c: set(5, 6) }),
    truth: sets({ d: set(5, 6), e: set(7) }),
  });
  expect(result).toEqual({ found: [], missed: ['p'], invented: ['c'], decoysKept: ['d'] });
});
