// tier: unit
import type { Decisions } from '../../../../activities/evaluate/choose-router/compare-decisions';
import type { CrossFitted } from '../../../../activities/evaluate/choose-router/cross-fit';
import { FOLLOWED, KnownOutcomes } from '../../../../activities/evaluate/choose-router/known-outcomes';
import { ARM_TRIALS } from '../../../../activities/evaluate/choose-router/play-arms';
import { comparedIn, type Setting, type State } from '../../../../activities/evaluate/choose-router/state';
import { playFinal } from '../../../../activities/evaluate/choose-router/rounds/finalists';

const seeds = Array.from({ length: 120 }, (_, i) => i);
/** Tasks of three kinds: of nothing, of what the adapter `a` learned, and of what only the mixed one did. */
const kindOf = (task: number) => task % 3;
const PASSES: Record<string, number[]> = { none: [0], a: [0, 1], mixed: [1, 2] };

const fitted = (kind: Decisions['kind'], arms: readonly string[]): CrossFitted => {
  const chosen = seeds.map((task) => arms[kindOf(task)]!);
  return { kind, chosen, choices: chosen.map((capabilityId) => ({ capabilityId, probability: 1, reason: 'routed' })) };
};
const base = fitted('base', ['none', 'none', 'none']);
const mixed = fitted('mixed', ['mixed', 'mixed', 'mixed']);
const router = fitted('labels', ['none', 'a', 'a']);
const best = fitted('outcomes-mixed', ['none', 'a', 'mixed']);

/** A final whose arms pass what they pass. `learned` has the router of each fit. */
async function final(
  learned: readonly CrossFitted[],
  {
    passes = PASSES,
    budget = 160,
    served = router,
    followed = false,
  }: { passes?: typeof PASSES; budget?: number; served?: Decisions; followed?: boolean } = {},
) {
  const tasks = seeds.map((seed) => ({
    ...{ seed, opening: '', later: [], needs: [], answer: null },
    basePasses: [passes['none']!.includes(kindOf(seed)) ? 1 : 0],
  }));
  const known = new KnownOutcomes(tasks);
  if (followed) for (const seed of seeds) known.add(seed, FOLLOWED, true);
  // The first half buys twice: for the rivals, and for the router that learned from them.
  const halves: string[][] = [];
  const setting: Setting = {
    ...{ labelled: { tasks, live: [], episodes: [] }, order: seeds, ids: ['a'], capabilities: [], playsMixed: true },
    ...{
      ridge: 1,
      pinned: null,
      lossMargin: 0.1,
      seed: 1,
      switches: [],
      toolNeeds: null,
      budget: { arms: 0, switches: 0 },
    },
    play: {
      arms: (missing) => {
        halves.push(missing.map(({ arm }) => arm));
        return Promise.resolve(
          missing.map(({ seed, arm }) => ({ seed, arm, passed: passes[arm]!.includes(kindOf(seed)) })),
        );
      },
      switches: () => Promise.resolve([]),
    },
  };
  const begun: State = {
    ...{ known, played: 0, whole: [base], pruned: [], remaining: [], adapters: new Map(), comparedFirst: [] },
    ...{
      comparedLast: [],
      single: null,
      comparedWithBase: [],
      boughtForHarm: 0,
      followed: Infinity,
      final: null,
      tools: null,
      spending: [],
    },
    served: { decisions: served, several: null, switches: null },
  };
  let fits = 0;
  const learn = () => Promise.resolve(learned[Math.min(fits++, learned.length - 1)]!);
  const state = await playFinal(setting, begun, { base, router, served, mixed, learn }, budget * ARM_TRIALS);
  return { round: state.final!, known: state.known, second: halves[2] ?? [], noted: state.spending };
}

test('takes the router with the mixed adapter among its arms where neither that alone nor the best router is as good', async () => {
  const { round, second, noted } = await final([best]);
  expect(round.winner).toBe(round.learned);
  expect(round.winner.kind).toBe('outcomes-mixed');
  expect(noted).toMatchObject([{ step: 'mixed', kind: 'outcomes-mixed' }]);
  // All others fell behind in the first half, so the second has nothing to buy.
  expect(round.remaining).toEqual([round.learned]);
  expect(second).toEqual([]);
  expect(round.last).toEqual(round.first);
  expect(round.adapters.map(({ capabilityId, leftOut }) => [capabilityId, leftOut])).toEqual([
    ['a', false],
    ['mixed', false],
  ]);
});

test('takes the mixed adapter alone where it is as good, and the router where both are', async () => {
  const all = await final([best], { passes: { ...PASSES, mixed: [0, 1, 2] } });
  expect(all.round.winner.kind).toBe('mixed');
  const useless = await final([best], { passes: { none: [0], a: [0, 1, 2], mixed: [1] } });
  expect(useless.round.winner.kind).toBe('labels');
});

test('buys in the second half only where those that are left differ', async () => {
  // The mixed adapter alone fails two kinds of three, and the two routers are close.
  const close = fitted('outcomes-mixed', ['none', 'a', 'none']);
  const { round, second } = await final([close], { passes: { none: [0], a: [0, 1], mixed: [] }, budget: 60 });
  expect(round.remaining.map(({ kind }) => kind)).toEqual(['labels', 'outcomes-mixed']);
  expect(new Set(second)).toEqual(new Set(['a']));
  expect(round.last.length).toBeGreaterThan(round.first.length);
  expect(comparedIn(round, round.learned, router)).toEqual(round.last);
  expect(comparedIn(round, round.learned, base)).toEqual(round.first);
});

test('does not take the mixed adapter alone where it harms what base does well, and leaves it out as an arm that harms', async () => {
  const wrong = fitted('outcomes-mixed', ['mixed', 'a', 'mixed']);
  // It gains more elsewhere than it loses, so that alone it is ahead of the router.
  const { round } = await final([wrong], { passes: { none: [0], a: [0], mixed: [1, 2] } });
  expect(round.mixedOnBaseTasks).toMatchObject({ gain: -1, harms: true });
  expect(round.remaining).not.toContain(mixed);
  expect(round.winner.kind).not.toBe('mixed');
  const { round: other } = await final([wrong], { passes: { none: [0, 2], a: [0, 1], mixed: [] } });
  expect(other.adapters).toContainEqual(expect.objectContaining({ capabilityId: 'mixed', leftOut: true }));
  expect(other.learned.chosen).not.toContain('mixed');
});

test('judges what has been learned until the end, where its choice was played', async () => {
  const early = fitted('outcomes-mixed', ['none', 'none', 'mixed']);
  const { round, known } = await final([early, best]);
  const later = round.learned.chosen.filter((arm, task) => arm !== early.chosen[task]);
  expect(later.length).toBeGreaterThan(0);
  expect(new Set(later)).toEqual(new Set(['a']));
  for (const task of round.first) expect(known.rate(task, round.learned.chosen[task]!)).not.toBeNull();
});

test('counts its conversations with their switches where it begins as the router does, and not with the mixed adapter', async () => {
  const served = { kind: router.kind, chosen: seeds.map(() => FOLLOWED) };
  const { learned } = (await final([best], { served, followed: true })).round;
  expect(learned.chosen.slice(0, 3)).toEqual([FOLLOWED, FOLLOWED, 'mixed']);
});
