// tier: unit
import { judgePairs } from '../../../../activities/identify/experiments/judge-pairs';
import { randomSource } from '../../../../activities/statistics/random';

const RULE = { experiments: 1, error: 0.05, least: 0.1, margin: 0.2 };
const pairs = (better: number, worse: number, bothPass: number, bothFail = 0) => ({
  pairs: better + worse + bothPass + bothFail,
  intervened: better + worse + bothPass + bothFail,
  passedWith: better + bothPass,
  ...{ better, worse },
});

test.each([
  ['seven of seven pairs', pairs(7, 0, 0), 'effect'],
  ['six of six pairs', pairs(6, 0, 0), 'undecided'],
  ['a clear sign but too small a gain', pairs(9, 0, 100), 'no-effect'],
  ['twenty-five pairs without a difference', pairs(0, 0, 25), 'no-effect'],
  ['ten pairs without a difference', pairs(0, 0, 10), 'undecided'],
  ['harm', pairs(0, 9, 15), 'no-effect'],
  ['the rest fails anyway', pairs(0, 0, 12, 40), 'undecided'],
])('%s', (_, counts, finding) => {
  expect(judgePairs(counts, RULE)).toBe(finding);
});

test('more experiments need more pairs', () => {
  expect(judgePairs(pairs(7, 0, 0), { ...RULE, experiments: 5 })).toBe('undecided');
  expect(judgePairs(pairs(10, 0, 0), { ...RULE, experiments: 5 })).toBe('effect');
});

test('a step that was hardly ever changed is not said to have no effect', () => {
  expect(judgePairs({ ...pairs(0, 0, 60), intervened: 30 }, RULE)).toBe('undecided');
});

/** Plays experiments of up to `most` pairs in blocks of 8, with these chances of success. Shares of the findings. */
function simulate(passes: { withStep: number; without: number }, { most = 100, experiments = 1, alike = 0 } = {}) {
  const random = randomSource(5);
  const found = { effect: 0, 'no-effect': 0, undecided: 0 };
  const runs = 3000;
  for (let run = 0; run < runs; run++) {
    const counts = pairs(0, 0, 0);
    let finding: keyof typeof found = 'undecided';
    while (finding === 'undecided' && counts.pairs + 8 <= most) {
      for (let i = 0; i < 8; i++) {
        const shared = random.uniform();
        const draw = () => (random.uniform() < alike ? shared : random.uniform());
        const [first, second] = [draw() < passes.withStep, draw() < passes.without];
        counts.pairs++;
        counts.intervened++;
        if (first) counts.passedWith++;
        if (first && !second) counts.better++;
        if (second && !first) counts.worse++;
      }
      finding = judgePairs(counts, { ...RULE, experiments });
    }
    found[finding]++;
  }
  return { effect: found.effect / runs, none: found['no-effect'] / runs, undecided: found.undecided / runs };
}

describe('over many experiments', () => {
  test.each([0.3, 0.5, 0.7, 0.9])('a step without an effect is rarely kept (successes %d)', (pass) => {
    expect(simulate({ withStep: pass, without: pass }).effect).toBeLessThanOrEqual(0.05);
    expect(simulate({ withStep: pass, without: pass }, { alike: 0.8 }).effect).toBeLessThanOrEqual(0.05);
  });

  test.each([
    [0.9, 0.7],
    [0.7, 0.5],
    [1, 0.8],
  ])('an effect of the margin is rarely called none (%d against %d)', (withStep, without) => {
    expect(simulate({ withStep, without }).none).toBeLessThanOrEqual(0.05);
    expect(simulate({ withStep, without }, { alike: 0.8 }).none).toBeLessThanOrEqual(0.05);
  });

  test('a step that decides is found in few pairs, and one that does not is told from it', () => {
    expect(simulate({ withStep: 0.9, without: 0.1 }, { most: 24, experiments: 2 }).effect).toBeGreaterThan(0.95);
    expect(simulate({ withStep: 0.8, without: 0.3 }, { most: 48, experiments: 2 }).effect).toBeGreaterThan(0.9);
    expect(simulate({ withStep: 0.95, without: 0.95 }, { most: 48 }).none).toBeGreaterThan(0.8);
    expect(simulate({ withStep: 0.8, without: 0.8 }, { alike: 0.8, most: 100 }).none).toBeGreaterThan(0.8);
  });
});
