// tier: unit
import { sureLoss } from '../../../activities/evaluate/sure-loss';
import { randomSource } from '../../../activities/statistics/random';

const arm = (name: string, passes: number[][]) => ({ name, passes });

test('counts the tasks that base passes in all trials and the other arm in none, by the choice of the router', () => {
  const base = arm('base', [...Array<number[]>(8).fill([1, 1]), [1, 0], [0, 0]]);
  const routed = arm('routed', [[0, 0], [0, 0], [1, 0], ...Array<number[]>(5).fill([1, 1]), [0, 0], [1, 1]]);
  const choices = ['b', 'a', ...Array<string>(8).fill('none')];
  expect(sureLoss(base, routed, choices)).toMatchObject({
    ...{ tasks: 8, lost: 2 },
    byCapability: [
      { capabilityId: 'a', lost: 1 },
      { capabilityId: 'b', lost: 1 },
    ],
  });
});

test('one trial, or no task that base surely passes, shows nothing', () => {
  expect(sureLoss(arm('base', [[1], [1]]), arm('routed', [[0], [0]]), ['a', 'a'])).toBeNull();
  expect(sureLoss(arm('base', [[1, 0]]), arm('routed', [[0, 0]]), ['a'])).toBeNull();
});

test.each([2, 4])('with %i trials luck is what an arm as good as base loses', (trials) => {
  const random = randomSource(trials);
  const chances = Array.from({ length: 20_000 }, () => random.uniform());
  const play = (name: string) =>
    arm(
      name,
      chances.map((chance) => Array.from({ length: trials }, () => (random.uniform() < chance ? 1 : 0))),
    );
  const found = sureLoss(
    play('base'),
    play('routed'),
    chances.map(() => 'a'),
  )!;
  expect(found.chance).toBeGreaterThan(0.001);
  expect(found.chance).toBeLessThan(0.999);
});

test('base that passes every task loses nothing by luck', () => {
  const base = arm('base', Array<number[]>(20).fill([1, 1]));
  expect(sureLoss(base, base, Array<string>(20).fill('a'))).toMatchObject({ lost: 0, luck: 0, chance: 1 });
});

test('one lost task of ten is no proof: luck loses one in six evaluations', () => {
  const base = arm('base', [...Array<number[]>(10).fill([1, 1]), ...Array<number[]>(3).fill([1, 0]), [0, 0], [0, 0]]);
  const routed = arm('routed', [[0, 0], ...base.passes.slice(1)]);
  const { luck, chance } = sureLoss(base, routed, Array<string>(15).fill('a'))!;
  expect(chance).toBeCloseTo(1 - (1 - luck) ** 10);
});
