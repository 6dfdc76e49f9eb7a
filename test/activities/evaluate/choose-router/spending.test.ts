// tier: unit
import { KnownOutcomes } from '../../../../activities/evaluate/choose-router/known-outcomes';
import { spendingAfter } from '../../../../activities/evaluate/choose-router/spending';
import { attainableRates } from '../../../../activities/evaluate/oracle';
import { mean } from '../../../../activities/statistics/mean';
import { randomSource } from '../../../../activities/statistics/random';

const seeds = Array.from({ length: 400 }, (_, i) => i);
const tasksOf = (needsOf: (task: number) => string[], basePasses: (task: number) => number[]) =>
  seeds.map((seed, task) => ({
    ...{ seed, opening: '', later: [], needs: needsOf(task), basePasses: basePasses(task), answer: null },
  }));

const oracleRates = (tasks: ReturnType<typeof tasksOf>, arms: readonly string[], known: KnownOutcomes) =>
  attainableRates(
    arms.map((arm) => tasks.map(({ seed }) => known.of(seed, arm))),
    tasks.map(({ needs }) => needs.join(' ')),
  );

describe('the oracle over arms that were not all played', () => {
  it('finds the arm of each need', () => {
    const tasks = tasksOf(
      (task) => (task % 2 ? ['a'] : []),
      (task) => [task % 2 ? 0 : 1],
    );
    const known = new KnownOutcomes(tasks);
    for (const { seed } of tasks)
      if (seed % 2 || seed < 20) for (let trial = 0; trial < 2; trial++) known.add(seed, 'a', seed % 2 === 1);
    expect(mean(oracleRates(tasks, ['none', 'a', 'mixed'], known))).toBe(1);
  });

  it('counts no luck where all arms are alike', () => {
    const random = randomSource(3);
    const pass = () => (random.uniform() < 0.5 ? 1 : 0);
    const tasks = tasksOf(
      () => [],
      () => [pass()],
    );
    const known = new KnownOutcomes(tasks);
    for (const { seed } of tasks)
      for (const arm of ['a', 'b', 'c']) for (let trial = 0; trial < 2; trial++) known.add(seed, arm, pass() === 1);
    const rate = mean(oracleRates(tasks, ['none', 'a', 'b', 'c'], known));
    expect(rate).toBeGreaterThan(0.44);
    expect(rate).toBeLessThan(0.56);
  });
});

test('a step says how much the best kind gains, up to the first task whose choice was not played, and the oracle', () => {
  const tasks = tasksOf(
    (task) => (task % 2 ? ['a'] : []),
    (task) => [task % 2 ? 0 : 1],
  );
  const known = new KnownOutcomes(tasks);
  for (const { seed } of tasks.slice(0, 100))
    for (let trial = 0; trial < 2; trial++) known.add(seed, 'a', seed % 2 === 1);
  // Half of what needs the adapter gets it.
  const best = { kind: 'labels' as const, chosen: seeds.map((task) => (task % 4 === 1 ? 'a' : 'none')) };
  const compared = seeds.slice(0, 120);
  const after = spendingAfter({ step: 'first-round', rollouts: 200 }, best, compared, tasks, known);
  expect(after).toMatchObject({ step: 'first-round', rollouts: 200, kind: 'labels', tasks: 101 });
  expect(after.gain).toBeCloseTo(25 / 101);
  expect(after.oracleGain).toBeCloseTo(50 / 101);
  expect(after.standardError).toBeGreaterThan(0);
});

test('tasks bought out of the drawn order for one adapter do not move the curve', () => {
  const tasks = tasksOf(
    (task) => (task % 2 ? ['a'] : []),
    () => [0],
  );
  const known = new KnownOutcomes(tasks);
  const play = (task: number, passed: boolean) => [0, 1].forEach(() => known.add(task, 'a', passed));
  const best = { kind: 'labels' as const, chosen: seeds.map((task) => (task % 2 ? 'a' : 'none')) };
  for (let task = 1; task < 100; task += 2) play(task, task % 4 === 1);
  const noted = () => spendingAfter({ step: 'harm', rollouts: 200 }, best, seeds, tasks, known);
  const before = noted();
  expect(before).toMatchObject({ tasks: 101, gain: 25 / 101 });
  // All of one adapter's further tasks, which it passes.
  for (let task = 201; task < 400; task += 2) play(task, true);
  expect(noted()).toEqual(before);
});

test('a task on which every trial failed does not end what is judged', () => {
  const tasks = tasksOf(
    () => ['a'],
    () => [0],
  );
  const known = new KnownOutcomes(tasks).with(
    seeds.slice(0, 10).map((seed) => ({ seed, arm: 'a', passed: seed === 2 ? null : true })),
  );
  const best = { kind: 'labels' as const, chosen: seeds.map(() => 'a') };
  expect(spendingAfter({ step: 'first-round', rollouts: 20 }, best, seeds, tasks, known)).toMatchObject({
    ...{ tasks: 9, gain: 1 },
  });
});
