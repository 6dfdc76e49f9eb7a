// tier: unit
import { adaptersThrough, contestedTasks, harms } from '../../../../activities/evaluate/choose-router/adapter-set';
import type { Decisions } from '../../../../activities/evaluate/choose-router/compare-decisions';
import { KnownOutcomes } from '../../../../activities/evaluate/choose-router/known-outcomes';
import { randomSource } from '../../../../activities/statistics/random';

const seeds = Array.from({ length: 200 }, (_, i) => 100 + i);
const everyTask = seeds.map((_, i) => i);
const decided = (kind: Decisions['kind'], chosen: (task: number) => string): Decisions => ({
  kind,
  chosen: everyTask.map(chosen),
});

/** Base passes the even tasks, adapter `a` the odd ones. */
function played(): KnownOutcomes {
  const known = new KnownOutcomes(
    seeds.map((seed) => ({
      ...{ seed, opening: '', later: [], needs: [], basePasses: [seed % 2 ? 0 : 1], answer: null },
    })),
  );
  for (const seed of seeds) known.add(seed, 'a', seed % 2 === 1);
  return known;
}

describe('gains say that an adapter harms', () => {
  it('where each part of the tasks says the same as the others', () => {
    expect(harms([-1, -1, 0, 0, 0, -1, 0, -1, 1, 0])).toBe(true);
    expect(harms(Array<number>(100).fill(-0.5))).toBe(true);
  });

  it('not where the tasks that show it are those that it was found on, nor on fewer than five', () => {
    // The mean is below zero because of one task of five: the other four do not say so.
    expect(harms([-1, 0, 0, 0, 0])).toBe(false);
    expect(harms([-1, -1, 1, 0, 0])).toBe(false);
    expect(harms([-1, -1, -1, -1])).toBe(false);
    expect(harms([1, -1, 0, 0, 0])).toBe(false);
  });

  it('rarely by chance: of adapters that gain ten points, as judged on ten tasks', () => {
    const random = randomSource(5);
    const passes = (rate: number) => (random.uniform() < rate ? 1 : 0);
    let [left, below] = [0, 0];
    for (let i = 0; i < 2_000; i++) {
      const gains = Array.from({ length: 10 }, () => (passes(0.6) + passes(0.6)) / 2 - passes(0.5));
      if (harms(gains)) left += 1;
      if (gains.reduce((sum, gain) => sum + gain, 0) < 0) below += 1;
    }
    expect(left / 2_000).toBeLessThan(0.15);
    expect(left).toBeLessThan(0.6 * below);
  });
});

test('an adapter that loses the tasks it is given is left out, not one of which too little is known', () => {
  const known = played();
  const harms = decided('labels', (task) => (task % 2 ? 'a' : 'b'));
  for (const seed of seeds) known.add(seed, 'b', false);
  expect(adaptersThrough(harms, ['a', 'b', 'c'], everyTask, known)).toMatchObject([
    { capabilityId: 'a', tasks: 100, gain: 1, leftOut: false },
    { capabilityId: 'b', tasks: 100, gain: -1, leftOut: true },
    { capabilityId: 'c', tasks: 0, gain: 0, leftOut: false },
  ]);
  expect(adaptersThrough(harms, ['b'], [0, 2, 4], known)[0]).toMatchObject({ tasks: 3, leftOut: false });
});

describe('an adapter that hardly gets a task', () => {
  const known = played();
  seeds.forEach((seed, task) => known.add(seed, 'b', task % 10 === 1));
  const few = (passes: boolean) =>
    decided('labels', (task) => (task % 2 ? 'a' : (passes ? [] : [0, 2, 4]).includes(task) ? 'b' : 'none'));

  it('is left out where it clearly loses alone and gains nothing through the router', () => {
    expect(adaptersThrough(few(false), ['b'], everyTask, known)[0]).toMatchObject({
      ...{ tasks: 3, gain: -1, leftOut: true, reason: 'alone', alone: { tasks: 200 } },
    });
  });

  it('stays where the router gives it the tasks that it gains on, or none', () => {
    const own = decided('labels', (task) => ([1, 11, 21].includes(task) ? 'b' : 'none'));
    expect(adaptersThrough(own, ['b'], everyTask, known)[0]).toMatchObject({ tasks: 3, leftOut: false });
    expect(adaptersThrough(few(true), ['b'], everyTask, known)[0]).toMatchObject({ tasks: 0, leftOut: false });
  });
});

test('more tasks are bought for adapters of which harm cannot be excluded, those with the widest bound first', () => {
  const known = played();
  const router = decided('labels', (task) => (task % 2 ? 'a' : ['b', 'c', 'none', 'c'][(task / 2) % 4]!));
  seeds.forEach((seed, task) => router.chosen[task] === 'b' && known.add(seed, 'b', false));
  const compared = everyTask.slice(0, 20);
  const rows = adaptersThrough(router, ['a', 'b', 'c'], compared, known);
  const [a, b] = rows;
  expect(a!.lossBound).toBeLessThan(0);
  // The three tasks that it lost are too few to leave it out.
  expect(b).toMatchObject({ tasks: 3, gain: -1, leftOut: false });
  const wanted = contestedTasks(router, rows, everyTask, compared, 0.1);
  expect(wanted.map((task) => router.chosen[task])).toEqual([
    ...Array<string>(5).fill('b'),
    ...Array<string>(5).fill('c'),
  ]);
  expect(wanted.every((task) => task >= 20)).toBe(true);
  expect(contestedTasks(router, rows, everyTask, everyTask, 0.1)).toEqual([]);
});
