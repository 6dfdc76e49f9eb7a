// tier: unit
import type { Decisions } from '../../../../activities/evaluate/choose-router/compare-decisions';
import { harmOf, upperLoss } from '../../../../activities/evaluate/choose-router/harm-bound';
import { KnownOutcomes } from '../../../../activities/evaluate/choose-router/known-outcomes';
import { randomSource } from '../../../../activities/statistics/random';

const seeds = Array.from({ length: 100 }, (_, i) => 100 + i);
const everyTask = seeds.map((_, i) => i);
const router = (chosen: (task: number) => string): Decisions => ({ kind: 'labels', chosen: everyTask.map(chosen) });
const basePasses = (passes: (task: number) => boolean) =>
  new KnownOutcomes(
    seeds.map((seed, task) => ({
      ...{ seed, opening: '', later: [], needs: [], basePasses: [passes(task) ? 1 : 0], answer: null },
    })),
  );

describe('the bound of a loss', () => {
  it.each([
    ['nothing is lost or won', () => [0.9, 0.9] as const],
    ['few tasks are lost, each for sure', (task: number) => (task % 10 === 3 ? ([1, 0] as const) : ([1, 1] as const))],
    ['a fifth is lost', () => [0.8, 0.6] as const],
    [
      'half gain what the other half loses',
      (task: number) => (task % 2 ? ([0.9, 0.6] as const) : ([0.3, 0.6] as const)),
    ],
  ])('is below the truth in at most about 5 %% of cases where %s', (_, ratesOf) => {
    const random = randomSource(7);
    const pass = (rate: number) => (random.uniform() < rate ? 1 : 0);
    for (const tasks of [10, 20, 60]) {
      let below = 0;
      for (let i = 0; i < 1_000; i++) {
        let truth = 0;
        const losses = Array.from({ length: tasks }, () => {
          const [base, own] = ratesOf(random.below(10));
          truth += (base - own) / tasks;
          return pass(base) - (pass(own) + pass(own)) / 2;
        });
        if (upperLoss(losses).bound < truth) below += 1;
      }
      expect(below / 1_000).toBeLessThan(0.08);
    }
  });

  it('is wide with few tasks, also where all end alike, and never certain', () => {
    expect(upperLoss([])).toMatchObject({ estimate: 0 });
    expect(upperLoss([]).bound).toBeGreaterThan(0.5);
    expect(upperLoss([0, 0, 0, 0, 0]).bound).toBeGreaterThan(0.2);
    expect(upperLoss(Array<number>(100).fill(0)).bound).toBeLessThan(0.1);
    expect(upperLoss(Array<number>(50).fill(-1)).bound).toBeLessThan(-0.8);
  });
});

describe('what a router may lose where it uses adapters', () => {
  const settings = { margin: 0.1, bought: 0 };

  it('counts nothing that base gets, and each adapter by the tasks that it gets', () => {
    const known = basePasses((task) => task % 2 === 0);
    for (const seed of seeds) known.add(seed, 'a', seed % 2 === 1);
    const harm = harmOf(
      router((task) => (task % 2 ? 'a' : 'none')),
      everyTask,
      known,
      settings,
    )!;
    expect(harm).toMatchObject({ tasks: 50, given: 0.5, loss: -1, above: false, margin: 0.1 });
    expect(harm.bound).toBeLessThan(-0.8);
    expect(harm.boundOverall).toBeCloseTo(harm.bound / 2);
    expect(
      harmOf(
        router(() => 'none'),
        everyTask,
        known,
        settings,
      ),
    ).toBeNull();
    // Ten times as many tasks were bought of `b`, which gets a tenth of what is given: `a` still counts for the rest.
    const mostlyA = router((task) => (task < 90 ? 'a' : 'b'));
    const some = basePasses((task) => task >= 90);
    for (const seed of seeds.slice(90)) some.add(seed, 'b', false);
    some.add(100, 'a', true);
    expect(harmOf(mostlyA, everyTask, some, settings)!.loss).toBeCloseTo(0.1 - 0.9);
  });

  it('is above the margin where adapters lose, and where too few tasks tell', () => {
    const known = basePasses(() => true);
    for (const seed of seeds) known.add(seed, 'a', seed % 4 > 0);
    const gives = router((task) => (task < 60 ? 'a' : 'none'));
    expect(harmOf(gives, everyTask, known, settings)).toMatchObject({ loss: 0.25, above: true });
    expect(harmOf(gives, [1, 2, 3], known, settings)).toMatchObject({ tasks: 3, loss: 0, above: true });
  });

  it('counts moved conversations and the mixed adapter as they were served', () => {
    const known = basePasses(() => false);
    for (const seed of seeds.slice(0, 40)) known.add(seed, 'mixed', true);
    for (const seed of seeds.slice(40, 60)) known.add(seed, 'followed', true);
    const served = router((task) => (task < 50 ? 'mixed' : task < 60 ? 'followed' : 'none'));
    expect(harmOf(served, [], known, settings)).toMatchObject({ tasks: 50, given: 0.6, loss: -1 });
  });
});
