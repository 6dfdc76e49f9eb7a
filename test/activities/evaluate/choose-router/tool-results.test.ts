// tier: unit
import { MockActivityEnvironment } from '@temporalio/testing';
import { FOLLOWED, KnownOutcomes } from '../../../../activities/evaluate/choose-router/known-outcomes';
import { crossFitToolNeeds, toolResultsRound } from '../../../../activities/evaluate/choose-router/rounds/tool-results';
import type { Setting, State, Switching } from '../../../../activities/evaluate/choose-router/state';
import type { RouterKind } from '../../../../contracts/config/router-kinds';
import { NONE_LABEL } from '../../../../contracts/names';
import type { LabelledSteps } from '../../../../routing/labelled-tasks';

const TASKS = 80;
const seeds = Array.from({ length: TASKS }, (_, seed) => seed);
/** What a task needs shows only when the agent looks. */
const needOf = (seed: number) => (['spin', 'ward', null] as const)[seed % 3]!;
const wordOf = (seed: number) => ({ spin: 'cloudy', ward: 'cracked', plain: 'plain' })[needOf(seed) ?? 'plain'];
const later = (seed: number) => [
  { role: 'assistant', content: null, tool_calls: [{ function: { name: 'look' } }] },
  { role: 'tool', content: `sample ${seed % 5}: ${wordOf(seed)}` },
  { role: 'assistant', content: null, tool_calls: [{ function: { name: 'store' } }] },
  { role: 'tool', content: 'stored' },
];
const labelOf = (seed: number, id: string) => (needOf(seed) === id ? ('LACKING' as const) : ('NA' as const));
const episodes = seeds.map((seed): LabelledSteps => ({
  ...{ seed, later: later(seed) },
  labels: { spin: labelOf(seed, 'spin'), ward: labelOf(seed, 'ward') },
}));
const tasks = seeds.map((seed) => ({
  ...{ seed, opening: 'the next sample', later: later(seed), basePasses: [0], answer: null },
  needs: [needOf(seed) ?? []].flat(),
}));

/** A competition that one adapter has won, and that then tries to follow the tools. */
async function follow(
  passes: (conversation: Switching) => boolean | null,
  changes: Partial<Setting> = {},
  earlier: Partial<State> = {},
) {
  const known = new KnownOutcomes(tasks).with(seeds.map((seed) => ({ seed, arm: 'mixed', passed: seed % 2 === 0 })));
  const played: Switching[] = [];
  const labelled = { tasks, live: [], episodes };
  const decisions = { kind: 'mixed' as const, chosen: seeds.map(() => 'mixed'), choices: [] };
  const ended: State = await new MockActivityEnvironment().run(async () => {
    const setting: Setting = {
      ...{ labelled, order: seeds, ids: ['spin', 'ward'], capabilities: [], playsMixed: true },
      ...{ ridge: 1, pinned: null, lossMargin: 0.1, seed: 1, switches: [], budget: { arms: 0, switches: 400 } },
      toolNeeds: await crossFitToolNeeds({ labelled, ids: ['spin', 'ward'], seed: 1 }),
      play: {
        arms: () => Promise.resolve([]),
        switches: (_, conversations) => {
          played.push(...conversations);
          return Promise.resolve(
            conversations.map((one) => [passes(one)].flatMap((pass) => (pass === null ? [] : +pass))),
          );
        },
      },
      ...changes,
    };
    const begun: State = {
      ...{ known, played: 0, whole: [decisions], pruned: [], remaining: [], adapters: new Map(), comparedFirst: [] },
      ...{ comparedLast: [], single: null, comparedWithBase: [], boughtForHarm: 0, followed: Infinity },
      ...{ final: null, tools: null, spending: [], served: { decisions, several: null, switches: null } },
      ...earlier,
    };
    return toolResultsRound(setting, begun, 0);
  });
  return { tools: ended.tools, known: ended.known, played };
}

test('conversations follow what tools show where that gains, also those of the mixed adapter', async () => {
  const { tools, played } = await follow(() => true);
  expect(tools!.comparison).toMatchObject({ adopted: true, leftOut: [] });
  // Every task with a need was played, and none without.
  expect(played.map(({ seed, to }) => [seed, to])).toEqual(
    seeds.filter((seed) => needOf(seed) !== null).map((seed) => [seed, needOf(seed)]),
  );
  // The reader that was fitted without the task says the same at each step.
  const { reader, seed } = played[0]!;
  expect(reader(later(seed).slice(0, 1), NONE_LABEL)).toBeNull();
  expect(reader(later(seed).slice(0, 2), NONE_LABEL)).toMatchObject({ capabilityId: needOf(seed) });
});

test('an adapter that loses by it is left out, and nothing is adopted where nothing gains', async () => {
  const one = await follow(({ to }) => to === 'spin');
  expect(one.tools!.comparison).toMatchObject({ adopted: true, leftOut: ['ward'] });
  const none = await follow(() => false);
  expect(none.tools!.comparison.adopted).toBe(false);
});

test('nothing is played through an adapter that the router leaves out', async () => {
  const spin = { capabilityId: 'spin', tasks: 9, gain: -1, leftOut: true };
  const { played } = await follow(() => true, {}, { adapters: new Map([['mixed', [spin]]]) });
  expect(new Set(played.map(({ to }) => to))).toEqual(new Set(['ward']));
  const cloudy = [...later(0).slice(0, 1), { role: 'tool', content: 'sample 1: cloudy' }];
  expect(played.map(({ reader }) => reader(cloudy, NONE_LABEL)?.capabilityId)).not.toContain('spin');
});

test.each([
  ['the mixed adapter alone, where a router that lost leaves one out', null, 'mixed', ['spin', 'ward']],
  ['a router that agent.yaml names, although the mixed adapter won', 'outcomes-mixed', 'outcomes-mixed', ['ward']],
] as const)('adapters are left out as they will be served: %s', async (_, pinned, served, followed) => {
  const all = (kind: RouterKind) => ({ kind, chosen: seeds.map(() => 'mixed'), choices: [] });
  const [mixed, learned] = [all('mixed'), all('outcomes-mixed')];
  const spin = { capabilityId: 'spin', tasks: 9, gain: -1, leftOut: true };
  const final = {
    ...{ mixed, whole: learned, learned, adapters: [spin], first: seeds, last: seeds, remaining: [mixed, learned] },
    ...{ mixedOnBaseTasks: null, winner: mixed },
  };
  const { tools, played } = await follow(() => true, { pinned }, { final });
  expect(tools!.decisions.kind).toBe(served);
  expect([...new Set(played.map(({ to }) => to))].sort()).toEqual(followed);
});

test('what is known of a router that switched at messages of the user is not mixed in', async () => {
  const switched = new KnownOutcomes(tasks).with(
    seeds.flatMap((seed) => [
      { seed, arm: 'mixed', passed: seed % 2 === 0 },
      { seed, arm: FOLLOWED, passed: false },
    ]),
  );
  const switches = { ...{ tasks: 9, rollouts: 0, gain: 0.5, standardError: 0.1, leftOut: [] }, reads: 'user' as const };
  const decisions = { kind: 'mixed' as const, chosen: seeds.map(() => 'mixed') };
  for (const adopted of [true, false]) {
    const served = { decisions, several: null, switches: { ...switches, adopted } };
    const { tools, known } = await follow(() => true, {}, { known: switched, served });
    const needy = seeds.filter((seed) => needOf(seed) !== null);
    expect(needy.map((task) => known.rate(task, tools!.decisions.chosen[task]!))).toEqual(needy.map(() => 1));
  }
});

test('an answer in text needs an adapter as a call does', async () => {
  const text = { role: 'assistant', content: null };
  const inTexts = (seed: number) => [...later(seed).slice(0, 2), text];
  const labelled = {
    tasks: tasks.map((task) => ({ ...task, later: inTexts(task.seed) })),
    live: [],
    episodes: episodes.map((episode) => ({ ...episode, later: inTexts(episode.seed!) })),
  };
  const found = await new MockActivityEnvironment().run(() =>
    crossFitToolNeeds({ labelled, ids: ['spin', 'ward'], seed: 1 }),
  );
  expect(found).not.toBeNull();
});

test('the budget bounds what is played', async () => {
  const { played } = await follow(() => true, { budget: { arms: 0, switches: 20 } });
  expect(played).toHaveLength(10);
  expect((await follow(() => true, { budget: { arms: 0, switches: 4 } })).tools).toBeNull();
});

test('tools that show nothing are not followed', async () => {
  const silent = episodes.map((episode) => ({ ...episode, later: [{ role: 'tool', content: 'stored' }] }));
  const labelled = { tasks: tasks.map((task) => ({ ...task, later: [] })), live: [], episodes: silent };
  const found = await new MockActivityEnvironment().run(() =>
    crossFitToolNeeds({ labelled, ids: ['spin', 'ward'], seed: 1 }),
  );
  expect(found).toBeNull();
});

test('a conversation whose trials all failed is compared with nothing, and keeps its choice', async () => {
  const { tools, played } = await follow(({ seed }) => (seed % 4 === 0 ? null : true));
  const lost = played.filter(({ seed }) => seed % 4 === 0);
  expect(lost.length).toBeGreaterThan(0);
  expect(tools!.comparison).toMatchObject({ adopted: true, tasks: played.length - lost.length });
  expect(lost.map(({ seed }) => tools!.decisions.chosen[seed])).toEqual(lost.map(() => 'mixed'));
});
