// tier: unit
import { MockActivityEnvironment } from '@temporalio/testing';
import { KnownOutcomes } from '../../../../activities/evaluate/choose-router/known-outcomes';
import { ARM_TRIALS } from '../../../../activities/evaluate/choose-router/play-arms';
import { resultOf } from '../../../../activities/evaluate/choose-router/result';
import { singleRound } from '../../../../activities/evaluate/choose-router/rounds/single';
import type { Setting, State } from '../../../../activities/evaluate/choose-router/state';
import type { RouterChoice } from '../../../../contracts/artifacts/router-choice';
import { NONE_LABEL } from '../../../../contracts/names';

const TASKS = 60;
const seeds = Array.from({ length: TASKS }, (_, seed) => seed);
/** Every task needs `always`; a third also needs `decisive`. Openings tell neither. */
const tasks = seeds.map((seed) => ({
  ...{ seed, opening: 'the next job', later: [], basePasses: [seed % 3 === 0 ? 0 : seed % 2], answer: null },
  needs: seed % 3 === 0 ? ['always', 'decisive'] : ['always'],
}));
const PASSES: Record<string, (seed: number) => boolean> = {
  always: (seed) => seed % 3 !== 0 && seed % 4 > 0,
  decisive: (seed) => seed % 3 === 0 || seed % 5 > 0,
};

/** What the router gains by switches at later messages. */
const SWITCHES = {
  ...{ reads: 'user' as const, tasks: 9, rollouts: 36, gain: 0.5, standardError: 0.1, leftOut: [], adopted: true },
};

/**
 * A competition after `decisive` was played on these tasks. The router gives everything to `always`.
 * @param routed tasks that the router gives to `decisive`.
 */
async function after(
  playedDecisive: readonly number[],
  { routed = () => false, pinned = null }: { routed?: (seed: number) => boolean; pinned?: Setting['pinned'] } = {},
): Promise<State & { bought: number; choice: RouterChoice }> {
  const outcome = (arm: string) => (seed: number) => ({ seed, arm, passed: PASSES[arm]!(seed) });
  const compared = seeds.slice(0, 30);
  const known = new KnownOutcomes(tasks).with([
    ...compared.map(outcome('always')),
    ...seeds.filter((seed) => playedDecisive.includes(seed) || (seed < 30 && routed(seed))).map(outcome('decisive')),
  ]);
  const decide = (kind: 'base' | 'labels', armOf: (seed: number) => string) => {
    const choices = seeds.map((seed) => ({ capabilityId: armOf(seed), probability: 1, reason: 'routed' as const }));
    return { kind, choices, chosen: seeds.map(armOf) };
  };
  const base = decide('base', () => NONE_LABEL);
  const labels = decide('labels', (seed) => (routed(seed) ? 'decisive' : 'always'));
  let bought = 0;
  const capabilities = ['always', 'decisive'].map((id) => ({ id, summary: id }));
  const setting: Setting = {
    ...{
      labelled: { tasks, live: [], episodes: [] },
      order: seeds,
      ids: ['always', 'decisive'],
      capabilities,
      playsMixed: false,
    },
    ...{
      ridge: 1,
      pinned,
      lossMargin: 0.1,
      seed: 1,
      switches: [],
      toolNeeds: null,
      budget: { arms: 400, switches: 0 },
    },
    play: {
      arms: (missing) => {
        bought += missing.length;
        return Promise.resolve(missing.map(({ seed, arm }) => outcome(arm)(seed)));
      },
      switches: () => Promise.resolve([]),
    },
  };
  const state: State = await new MockActivityEnvironment().run(
    singleRound,
    setting,
    {
      ...{ known, played: 0, whole: [base, labels], pruned: [base, labels], remaining: [labels], adapters: new Map() },
      ...{ comparedFirst: compared, comparedLast: compared, single: null, comparedWithBase: compared },
      ...{ boughtForHarm: 0, followed: Infinity, final: null, tools: null, spending: [] },
      served: { decisions: labels, several: null, switches: SWITCHES },
    },
    400,
  );
  const result: Awaited<ReturnType<typeof resultOf>> = await new MockActivityEnvironment().run(
    resultOf,
    setting,
    state,
  );
  return { ...state, bought, choice: result.choice };
}

test('the best adapter alone is served where a router sends everything to a need that every task has', async () => {
  const { served, single } = await after(seeds.slice(0, 15));
  expect(served.decisions).toMatchObject({ kind: 'single' });
  expect(new Set(served.decisions.chosen)).toEqual(new Set(['decisive']));
  expect(single!.tasks).toHaveLength(TASKS);
});

test('its gain over base is that on all compared tasks, also where the router chooses it', async () => {
  const { single, known, pruned } = await after(seeds.slice(0, 15), { routed: (seed) => seed % 2 === 0 });
  const { chosen } = pruned.find(({ kind }) => kind === 'single')!;
  expect(single!.tasks).toHaveLength(TASKS);
  expect(single!.tasks.filter((task) => known.gain(task, chosen[task]!) === null)).toEqual([]);
});

test('where agent.yaml names it, its harm is that on the tasks on which it was compared', async () => {
  const { single, comparedWithBase } = await after(seeds.slice(0, 15), { pinned: 'single', routed: () => true });
  expect(single!.tasks).toHaveLength(TASKS);
  expect(comparedWithBase).toEqual(single!.tasks);
});

test('the report says nothing of switches that another router would make, but counts their rollouts', async () => {
  const { choice, bought } = await after(seeds.slice(0, 15));
  expect(choice).toMatchObject({ chosen: 'single', rollouts: bought * ARM_TRIALS + SWITCHES.rollouts });
  expect(choice).not.toHaveProperty('laterTurns');
});

test('nothing is bought for an adapter that nothing speaks for', async () => {
  const { served, bought } = await after([]);
  expect(served.decisions).toMatchObject({ kind: 'labels' });
  expect(bought).toBe(0);
});
