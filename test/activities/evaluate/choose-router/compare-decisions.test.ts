// tier: unit
import {
  armsToPlay,
  chooseKind,
  type Decisions,
  difference,
  mixedOnBaseTasks,
  survivors,
} from '../../../../activities/evaluate/choose-router/compare-decisions';
import { taskOrder } from '../../../../routing/fit/fit-needs';
import { KnownOutcomes } from '../../../../activities/evaluate/choose-router/known-outcomes';

const seeds = Array.from({ length: 200 }, (_, i) => 100 + i);
const everyTask = seeds.map((_, i) => i);
const decided = (kind: Decisions['kind'], chosen: (task: number) => string): Decisions => ({
  kind,
  chosen: everyTask.map(chosen),
});
const base = decided('base', () => 'none');
const right = decided('labels', (task) => (task % 2 ? 'a' : 'none'));
const wrong = decided('logits', () => 'a');

/** Base passes the even tasks, adapter `a` the odd ones. */
function played(): KnownOutcomes {
  const known = new KnownOutcomes(
    seeds.map((seed) => ({
      seed,
      opening: '',
      later: [],
      needs: [],
      basePasses: [seed % 2 ? 0 : 1],
      answer: null,
    })),
  );
  for (const seed of seeds) known.add(seed, 'a', seed % 2 === 1);
  return known;
}

test('the order of tasks is a permutation that the seed decides', () => {
  const order = taskOrder(50, 7);
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
  expect(order).toEqual(taskOrder(50, 7));
  expect(order).not.toEqual(taskOrder(50, 8));
});

describe('what is bought', () => {
  const nothing = () =>
    new KnownOutcomes(
      seeds.map((seed) => ({ seed, opening: '', later: [], needs: [], basePasses: [1], answer: null })),
    );

  it('is nothing where all agree, or where the outcome is known', () => {
    expect(armsToPlay([right, right], everyTask, nothing(), 500)).toEqual({ missing: [], compared: 200 });
    expect(armsToPlay([base, right], everyTask, played(), 0)).toEqual({ missing: [], compared: 200 });
  });

  it('is the arms of a beginning of the order, as far as the budget goes', () => {
    const { missing, compared } = armsToPlay([base, right], everyTask, nothing(), 10);
    expect(missing.map(({ seed }) => seed)).toEqual([101, 103, 105, 107, 109, 111, 113, 115, 117, 119]);
    expect(missing.every(({ arm }) => arm === 'a')).toBe(true);
    expect(compared).toBe(21);
  });
});

describe('the mixed adapter on tasks that the router leaves to base', () => {
  const mixed = decided('mixed', () => 'mixed');
  const withMixed = (passes: (task: number) => boolean) => {
    const known = played();
    seeds.forEach((seed, task) => known.add(seed, 'mixed', passes(task)));
    return mixedOnBaseTasks({ mixed, router: right, base }, everyTask, known);
  };

  it('harms where it loses more of them than chance explains', () => {
    expect(withMixed((task) => task % 10 !== 0)).toMatchObject({ tasks: 100, gain: -0.2, harms: true });
    expect(withMixed((task) => task !== 0)).toMatchObject({ tasks: 100, gain: -0.01, harms: false });
  });

  it('is not judged on fewer than five', () => {
    const known = played();
    const few = mixedOnBaseTasks({ mixed, router: right, base }, [0, 1, 2, 3, 4, 5, 6], known);
    expect(few).toBeNull();
  });
});

describe('the choice', () => {
  it('drops what is far behind and takes the best', () => {
    const known = played();
    expect(difference(right, base, everyTask, known)).toMatchObject({ estimate: 0.5 });
    expect(survivors([base, right, wrong], everyTask, known)).toEqual([right]);
    expect(chooseKind([base, right, wrong], everyTask, known)).toBe(right);
  });

  it('takes the simpler of two that are alike, whatever their order', () => {
    const alike = decided('logits', (task) => right.chosen[task]!);
    expect(chooseKind([alike, right], everyTask, played()).kind).toBe('labels');
  });

  it('is base only where base is the best: too little data are no reason to give the gain away', () => {
    const few = [0, 1, 3, 5];
    expect(chooseKind([base, right], few.slice(0, 2), played())).toBe(right);
    expect(chooseKind([base, wrong], [0, 2], played())).toBe(base);
  });

  it('takes a simpler router within the standard error, and the mixed adapter alone only where it is not far behind', () => {
    const known = played();
    for (const seed of seeds) known.add(seed, 'mixed', seed % 20 > 0);
    known.add(101, 'a', false);
    const best = decided('outcomes-mixed', (task) => right.chosen[task]!);
    const behind = (kind: Decisions['kind']) => [base, decided(kind, () => 'mixed'), best];
    const few = everyTask.slice(0, 11);
    expect(chooseKind(behind('labels'), few, known).kind).toBe('labels');
    expect(chooseKind(behind('mixed'), few, known).kind).toBe('outcomes-mixed');
    expect(chooseKind(behind('mixed'), few.slice(1), known).kind).toBe('mixed');
  });

  it('without any compared task is the simplest that uses the adapters', () => {
    expect(chooseKind([base, right, wrong], [], played())).toBe(right);
  });
});

describe('a task on which every trial of an arm failed', () => {
  const nothing = () => new KnownOutcomes(seeds.map((seed) => ({ seed, basePasses: [1] })));
  const failed = nothing().with(
    [101, 103, 103].map((seed) => ({ seed, arm: 'a', passed: seed === 103 ? true : null })),
  );

  it('is not bought again', () => {
    const { missing } = armsToPlay([base, right], everyTask, failed, 2);
    expect(missing.map(({ seed }) => seed)).toEqual([105, 107]);
  });

  it('is in no difference, instead of counting as lost', () => {
    expect(failed.gain(1, 'a')).toBeNull();
    expect(difference(right, base, [1, 3], failed)).toEqual({ estimate: 0, standardError: 0 });
    expect(difference(right, base, [1], failed)).toEqual({ estimate: 0, standardError: 0 });
  });
});
