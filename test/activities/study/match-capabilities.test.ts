// tier: unit
import {
  matchCapabilities,
  pairwiseAgreement,
  type StudiedIdentification,
} from '../../../activities/study/match-capabilities';

interface Found {
  id: string;
  lacking: number[];
  gap?: number | null;
  kept?: boolean;
}

const identification = (...found: Found[]): StudiedIdentification => ({
  names: new Map(found.map(({ id }) => [id, `Name ${id}`])),
  contrasts: found.map(({ id, gap = 0.4, kept = true }) => ({
    capabilityId: id,
    gap,
    coverage: 0.2,
    kept,
    verdict: kept ? ('kept' as const) : ('rejected' as const),
  })),
  lacking: new Map(found.map(({ id, lacking }) => [id, new Set(lacking)])),
});

test('the same thing under other words is one capability', () => {
  const found = matchCapabilities([
    identification({ id: 'verify', lacking: [1, 2, 3, 4], gap: 0.5 }, { id: 'greet', lacking: [7, 8], kept: false }),
    identification(
      { id: 'check-identity', lacking: [1, 2, 3], gap: 0.4 },
      { id: 'hello', lacking: [7, 8, 9], kept: false },
    ),
  ]);
  expect(found.map(({ id, names, named, kept }) => [id, names, named, kept])).toEqual([
    ['verify', ['Name verify', 'Name check-identity'], 2, 2],
    ['greet', ['Name greet', 'Name hello'], 2, 0],
  ]);
  expect(found[0]?.gap?.mean).toBeCloseTo(0.45, 10);
  expect(found[0]?.gap?.largestDeviation).toBeCloseTo(0.05, 10);
  expect(found[0]?.points.map(({ agreement }) => agreement)).toEqual([1, 0.75]);
});

test('one name for two things is two capabilities', () => {
  const found = matchCapabilities([
    identification({ id: 'care', lacking: [1, 2, 3] }),
    identification({ id: 'care', lacking: [7, 8, 9] }),
  ]);
  expect(found.map(({ id, named }) => [id, named])).toEqual([
    ['care', 1],
    ['care-1', 1],
  ]);
});

test('an identification gives each capability at most one partner, the best', () => {
  const found = matchCapabilities([
    identification({ id: 'a', lacking: [1, 2, 3, 4] }),
    identification({ id: 'half', lacking: [1, 2, 3] }, { id: 'whole', lacking: [1, 2, 3, 4] }),
  ]);
  expect(found.find(({ id }) => id === 'a')?.names).toEqual(['Name a', 'Name whole']);
  expect(found.find(({ id }) => id === 'half')?.named).toBe(1);
});

test('what nobody lacks is matched by its id, and has no gap where there is none', () => {
  const nobody = { id: 'rare', lacking: [], gap: null, kept: false };
  expect(matchCapabilities([identification(nobody), identification(nobody)])).toMatchObject([
    { id: 'rare', named: 2, gap: null },
  ]);
});

test('agreement of sets is the mean Jaccard index of their pairs', () => {
  const set = (...items: string[]) => new Set(items);
  expect(pairwiseAgreement([set('a', 'b'), set('a', 'b'), set('a')])).toBeCloseTo((1 + 0.5 + 0.5) / 3, 10);
  expect(pairwiseAgreement([set(), set()])).toBe(1);
  expect(pairwiseAgreement([set('a')])).toBeNull();
});
