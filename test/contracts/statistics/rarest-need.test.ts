// tier: unit
import { rarestNeed } from '../../../contracts/statistics/rarest-need';

const design = { tasks: 300, otherRisk: 0.1, candidates: 12, familywiseError: 0.05, minCoverage: 0.1 };

test('more tasks find rarer needs', () => {
  const found = [100, 300, 1000].map((tasks) => rarestNeed({ ...design, tasks, minCoverage: 0.01 })!);
  expect(found).toEqual([...found].sort((a, b) => b - a));
  expect(new Set(found).size).toBe(3);
});

test('the rarest need is found in four of five drawn identifications, by the tasks that lack it', () => {
  // With 10 % other failures, eight lacking tasks pass Fisher's test against eight that show it, one of which fails.
  const share = rarestNeed({ ...design, minCoverage: 0.01 })! / 2;
  const enough = (p: number) => {
    let [tail, weight] = [0, (1 - p) ** 300];
    for (let k = 0; k < 8; k++) {
      tail += weight;
      weight *= ((300 - k) / (k + 1)) * (p / (1 - p));
    }
    return 1 - tail;
  };
  expect(enough(share)).toBeGreaterThanOrEqual(0.8);
  expect(enough(share - 1 / 300)).toBeLessThan(0.8);
});

test.each([
  ['more other failures', { otherRisk: 0.3 }],
  ['more candidates', { candidates: 200 }],
  ['a higher coverage', { minCoverage: 0.9 }],
])('%s need a need that is more frequent', (_, change) => {
  expect(rarestNeed({ ...design, ...change })).toBeGreaterThan(rarestNeed(design)!);
});

test.each([
  ['too few tasks', { tasks: 8 }],
  ['too many other failures', { otherRisk: 0.6 }],
])('with %s none is found', (_, change) => {
  expect(rarestNeed({ ...design, ...change })).toBeNull();
});
