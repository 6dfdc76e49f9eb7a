// tier: unit
import { armsToPlay, type Decisions } from '../../../../activities/evaluate/choose-router/competition';
import type { CrossFitted } from '../../../../activities/evaluate/choose-router/decisions';
import { comparedIn, type FinalHost, playFinal } from '../../../../activities/evaluate/choose-router/final-round';
import { FOLLOWED, KnownOutcomes } from '../../../../activities/evaluate/choose-router/known-outcomes';

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

/** A competition whose arms pass what they pass; every third trial of an arm ends otherwise, where there is luck. */
function competition(learned: readonly CrossFitted[], passes = PASSES, budget = 160) {
  const known = new KnownOutcomes(
    seeds.map((seed) => ({
      ...{ seed, opening: '', later: [], needs: [], answer: null },
      basePasses: [passes['none']!.includes(kindOf(seed)) ? 1 : 0],
    })),
  );
  const bought: { half: string; arm: string }[] = [];
  const noted: { step: string; kind: string }[] = [];
  let fits = 0;
  const host: FinalHost = {
    ...{ known, seeds, order: seeds, capabilityIds: ['a'] },
    play: (decisions, share, order) => {
      const rest = Math.floor((budget - bought.length) * share);
      const { missing, compared } = armsToPlay(decisions, order, seeds, known, rest);
      for (const { seed, capabilityId } of missing) {
        known.add(seed, capabilityId, passes[capabilityId]!.includes(kindOf(seed)));
        bought.push({ half: noted.length === 0 ? 'first' : 'second', arm: capabilityId });
      }
      return Promise.resolve(order.slice(0, compared));
    },
    learn: () => Promise.resolve(learned[Math.min(fits++, learned.length - 1)]!),
    note: (step, { kind }) => void noted.push({ step, kind }),
  };
  return { host, known, bought, noted };
}

test('takes the router with the mixed adapter among its arms where neither that alone nor the best router is as good', async () => {
  const { host, bought, noted } = competition([best]);
  const round = await playFinal(host, { base, router, served: router, mixed });
  expect(round.winner).toBe(round.learned);
  expect(round.winner.kind).toBe('outcomes-mixed');
  expect(noted).toEqual([
    { step: 'mixed', kind: 'outcomes-mixed' },
    { step: 'finalists', kind: 'outcomes-mixed' },
  ]);
  // All others fell behind in the first half, so the second has nothing to buy.
  expect(round.left).toEqual([round.learned]);
  expect(bought.filter(({ half }) => half === 'second')).toEqual([]);
  expect(round.last).toEqual(round.first);
  expect(round.adapters.map(({ capabilityId, leftOut }) => [capabilityId, leftOut])).toEqual([
    ['a', false],
    ['mixed', false],
  ]);
});

test('takes the mixed adapter alone where it is as good, and the router where both are', async () => {
  const all = competition([best], { ...PASSES, mixed: [0, 1, 2] });
  expect((await playFinal(all.host, { base, router, served: router, mixed })).winner.kind).toBe('mixed');
  const useless = competition([best], { none: [0], a: [0, 1, 2], mixed: [1] });
  expect((await playFinal(useless.host, { base, router, served: router, mixed })).winner.kind).toBe('labels');
});

test('buys in the second half only where those that are left differ', async () => {
  // The mixed adapter alone fails two kinds of three, and the two routers are close.
  const close = fitted('outcomes-mixed', ['none', 'a', 'none']);
  const { host, bought } = competition([close], { none: [0], a: [0, 1], mixed: [] }, 60);
  const round = await playFinal(host, { base, router, served: router, mixed });
  expect(round.left.map(({ kind }) => kind)).toEqual(['labels', 'outcomes-mixed']);
  const second = bought.filter(({ half }) => half === 'second');
  expect(new Set(second.map(({ arm }) => arm))).toEqual(new Set(['a']));
  expect(round.last.length).toBeGreaterThan(round.first.length);
  expect(comparedIn(round, round.learned, router)).toEqual(round.last);
  expect(comparedIn(round, round.learned, base)).toEqual(round.first);
});

test('does not take the mixed adapter alone where it harms what base does well, and leaves it out as an arm that harms', async () => {
  const wrong = fitted('outcomes-mixed', ['mixed', 'a', 'mixed']);
  // It gains more elsewhere than it loses, so that alone it is ahead of the router.
  const { host } = competition([wrong], { none: [0], a: [0], mixed: [1, 2] });
  const round = await playFinal(host, { base, router, served: router, mixed });
  expect(round.mixedOnBaseTasks).toMatchObject({ gain: -1, harms: true });
  expect(round.left).not.toContain(mixed);
  expect(round.winner.kind).not.toBe('mixed');
  const harmful = competition([wrong], { none: [0, 2], a: [0, 1], mixed: [] });
  const other = await playFinal(harmful.host, { base, router, served: router, mixed });
  expect(other.adapters).toContainEqual(expect.objectContaining({ capabilityId: 'mixed', leftOut: true }));
  expect(other.learned.chosen).not.toContain('mixed');
});

test('judges what has been learned until the end, where its choice was played', async () => {
  const early = fitted('outcomes-mixed', ['none', 'none', 'mixed']);
  const { host, known } = competition([early, best]);
  const round = await playFinal(host, { base, router, served: router, mixed });
  const later = round.learned.chosen.filter((arm, task) => arm !== early.chosen[task]);
  expect(later.length).toBeGreaterThan(0);
  expect(new Set(later)).toEqual(new Set(['a']));
  for (const task of round.first) expect(known.rate(task, round.learned.chosen[task]!)).not.toBeNull();
});

test('counts its conversations with their moves where it begins as the router does, and not with the mixed adapter', async () => {
  const { host, known } = competition([best]);
  for (const seed of seeds) known.add(seed, FOLLOWED, true);
  const served = { kind: router.kind, chosen: seeds.map(() => FOLLOWED) };
  const { learned } = await playFinal(host, { base, router, served, mixed });
  expect(learned.chosen.slice(0, 3)).toEqual([FOLLOWED, FOLLOWED, 'mixed']);
});
