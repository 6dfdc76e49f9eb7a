// tier: unit
import { benjaminiHochberg, judgeEffects } from '../../../../activities/identify/causes/judge-effects';
import { labelledEpisodes } from '../../../../activities/identify/causes/labelled-episodes';
import { partialEffect } from '../../../../activities/identify/causes/partial-effect';
import { LABEL_CODES } from '../../../../activities/identify/verdicts/label-codes';
import { type RandomSource, randomSource } from '../../../../activities/statistics/random';

const { NA, PRESENT, LACKING } = LABEL_CODES;
const RULE = { minGap: 0.2, minCoverage: 0.1, familywiseError: 0.05 };

/** An episode: the label of each candidate, and whether it failed. One task each. */
type Episode = readonly [labels: readonly number[], failed: boolean];

function split(episodes: readonly Episode[]) {
  const candidates = episodes[0]![0].length;
  return {
    labels: Array.from({ length: candidates }, (_, c) => Uint8Array.from(episodes, ([labels]) => labels[c]!)),
    outcomes: {
      success: Uint8Array.from(episodes, ([, failed]) => (failed ? 0 : 1)),
      task: Uint32Array.from(episodes.keys()),
      tasks: episodes.length,
    },
  };
}

const times = (count: number, labels: readonly number[], failed: boolean): Episode[] =>
  Array.from({ length: count }, () => [labels, failed] as const);

const contrasted = (...kept: boolean[]) =>
  kept.map((one, c) => ({ kept: one, passed: one, hasNoGap: false, weight: 1 - c / 10 }));

/** The cause alone fails episodes. The decoy is lacking in 80 % of the episodes that lack the cause, else in 20 %. */
const COMPANY = [
  ...times(80, [LACKING, LACKING], true),
  ...times(20, [LACKING, PRESENT], true),
  ...times(20, [PRESENT, LACKING], false),
  ...times(78, [PRESENT, PRESENT], false),
  ...times(2, [PRESENT, PRESENT], true),
];

test('a lack that fails nothing by itself goes along with the lack that does', () => {
  const { labels, outcomes } = split(COMPANY);
  const [cause, decoy] = judgeEffects(labels, outcomes, contrasted(true, true), RULE);
  expect(cause).toMatchObject({ verdict: 'as-contrasted', goesWith: null });
  expect(cause!.effect!.estimate).toBeGreaterThan(0.9);
  expect(decoy).toMatchObject({ verdict: 'companion', goesWith: 0 });
  expect(Math.abs(decoy!.effect!.estimate)).toBeLessThan(0.05);
});

test('the weighted comparison equals the one within strata', () => {
  // Two strata by the other lack. Within them, the lack adds 40 and 20 points.
  const episodes = [
    ...[...times(6, [LACKING, LACKING], true), ...times(4, [LACKING, LACKING], false)],
    ...[...times(8, [PRESENT, LACKING], true), ...times(32, [PRESENT, LACKING], false)],
    ...[...times(12, [LACKING, PRESENT], true), ...times(28, [LACKING, PRESENT], false)],
    ...[...times(1, [PRESENT, PRESENT], true), ...times(9, [PRESENT, PRESENT], false)],
  ];
  const { labels, outcomes } = split(episodes);
  const { effect } = partialEffect(labelledEpisodes(labels, outcomes), 0);
  // Both strata have the overlap weight n1 n0 / (n1 + n0) = 8.
  expect(effect!.estimate).toBeCloseTo((0.4 + 0.2) / 2, 2);
  expect(effect!.low).toBeGreaterThan(0);
});

test('of two lacks that always come together one stays, and the other is called inseparable from it', () => {
  const episodes = [...times(50, [LACKING, LACKING], true), ...times(50, [PRESENT, PRESENT], false)];
  const { labels, outcomes } = split(episodes);
  const [first, second] = judgeEffects(labels, outcomes, contrasted(true, true), RULE);
  expect(first).toMatchObject({ verdict: 'as-contrasted', effect: null });
  expect(second).toMatchObject({ verdict: 'inseparable', goesWith: 0, effect: null });
});

test('where a few episodes leave both possible, it says how many more would tell', () => {
  const episodes = [
    ...times(40, [LACKING, LACKING], true),
    ...[...times(3, [LACKING, PRESENT], true), ...times(2, [PRESENT, LACKING], false)],
    ...[...times(1, [PRESENT, LACKING], true), ...times(40, [PRESENT, PRESENT], false)],
  ];
  const { labels, outcomes } = split(episodes);
  const [, decoy] = judgeEffects(labels, outcomes, contrasted(true, true), RULE);
  expect(decoy).toMatchObject({ verdict: 'inseparable', goesWith: 0 });
  const { estimate, low } = decoy!.effect!;
  expect(low).toBeLessThan(0);
  expect(decoy!.moreEpisodes).toBe(Math.ceil(86 * (((estimate - low) / estimate) ** 2 - 1)));
});

test('a rare lack that decides its episodes is kept', () => {
  const episodes = [
    ...[...times(60, [LACKING, NA], true), ...times(100, [PRESENT, NA], false)],
    ...[...times(8, [PRESENT, LACKING], true), ...times(5, [PRESENT, PRESENT], false)],
  ];
  const { labels, outcomes } = split(episodes);
  expect(judgeEffects(labels, outcomes, contrasted(true, false), RULE)[1]).toMatchObject({ verdict: 'decisive' });
  // The same lack is no finding where the other one explains these failures.
  const explained = [
    ...[...times(60, [LACKING, NA], true), ...times(100, [PRESENT, NA], false)],
    ...[...times(8, [LACKING, LACKING], true), ...times(5, [PRESENT, PRESENT], false)],
  ];
  const other = split(explained);
  expect(judgeEffects(other.labels, other.outcomes, contrasted(true, false), RULE)[1]).toMatchObject({
    verdict: 'as-contrasted',
  });
});

test('tasks that are hard, whether they lack a capability or show it, make it no finding', () => {
  const episodes = [
    ...[...times(15, [NA], true), ...times(285, [NA], false)],
    ...[...times(22, [LACKING], true), ...times(14, [LACKING], false)],
    ...[...times(2, [PRESENT], true), ...times(2, [PRESENT], false)],
  ];
  const { labels, outcomes } = split(episodes);
  expect(judgeEffects(labels, outcomes, contrasted(false), RULE)[0]).toMatchObject({ verdict: 'as-contrasted' });
});

test('a capability that the agent hardly ever shows is not trainable, unless the contrast keeps it', () => {
  const episodes = [
    ...[...times(60, [LACKING, NA], true), ...times(100, [PRESENT, NA], false)],
    ...[...times(23, [PRESENT, LACKING], true), ...times(1, [PRESENT, PRESENT], false)],
  ];
  const { labels, outcomes } = split(episodes);
  const [shown, never] = judgeEffects(labels, outcomes, contrasted(true, false), RULE);
  expect(shown).toMatchObject({ verdict: 'as-contrasted', hardlyShown: null });
  expect(never).toMatchObject({ verdict: 'hardly-shown', hardlyShown: { calledFor: 24, exceptions: 1 } });
  expect(judgeEffects(labels, outcomes, contrasted(true, true), RULE)[1]).toMatchObject({ hardlyShown: null });
});

test('without another candidate the contrast decides', () => {
  const { labels, outcomes } = split([...times(30, [LACKING], true), ...times(30, [PRESENT], false)]);
  const [only] = judgeEffects(labels, outcomes, contrasted(true), RULE);
  expect(only).toMatchObject({ verdict: 'as-contrasted', goesWith: null });
  expect(only!.effect!.estimate).toBeGreaterThan(0.9);
});

test.each([
  ['nobody calls for it', NA, NA],
  ['everybody lacks it', LACKING, LACKING],
  ['nobody lacks it', PRESENT, PRESENT],
])('there is no effect where %s', (_, first, second) => {
  const { labels, outcomes } = split([...times(5, [first, PRESENT], true), ...times(5, [second, LACKING], false)]);
  expect(partialEffect(labelledEpisodes(labels, outcomes), 0)).toEqual({
    effect: null,
    pValue: 1,
    inseparableFrom: null,
  });
});

/** Labels and outcomes without any effect: two trials of each of 60 tasks, which resemble each other. */
function withoutEffect(random: RandomSource) {
  const episodes = Array.from({ length: 60 }, (): Episode[] => {
    const label = () => (random.uniform() < 0.5 ? LACKING : PRESENT);
    const [labels, failed] = [[label(), label(), label()], random.uniform() < 0.4];
    return [
      [labels, failed],
      [random.uniform() < 0.5 ? labels : [label(), label(), label()], random.uniform() < 0.5 ? failed : !failed],
    ];
  }).flat();
  const { labels, outcomes } = split(episodes);
  return { labels, outcomes: { ...outcomes, task: outcomes.task.map((i) => i >> 1), tasks: 60 } };
}

test('without any effect the p-values are uniform', () => {
  const random = randomSource(3);
  const pValues = Array.from({ length: 1000 }, () => {
    const { labels, outcomes } = withoutEffect(random);
    return partialEffect(labelledEpisodes(labels, outcomes), 0).pValue;
  });
  for (const level of [0.05, 0.25, 0.5, 0.75]) {
    const below = pValues.filter((p) => p <= level).length / pValues.length;
    expect(Math.abs(below - level)).toBeLessThan(3.5 * Math.sqrt((level * (1 - level)) / pValues.length));
  }
});

test('without any effect hardly anything is kept that the contrast does not keep', () => {
  const random = randomSource(4);
  let kept = 0;
  for (let i = 0; i < 400; i++) {
    const { labels, outcomes } = withoutEffect(random);
    const passed = contrasted(false, false, false).map((one) => ({ ...one, passed: true }));
    if (judgeEffects(labels, outcomes, passed, RULE).some(({ verdict }) => verdict === 'decisive')) kept++;
  }
  expect(kept).toBeLessThan(20);
});

test('p-values are adjusted as by Benjamini and Hochberg', () => {
  expect(benjaminiHochberg([0.01, 0.04, 0.03, 0.5])).toEqual([
    0.04,
    expect.closeTo(0.16 / 3),
    expect.closeTo(0.16 / 3),
    0.5,
  ]);
});
