// Tier: unit.
import { chooseShown } from '../../../activities/calibrate/shown-rollouts';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';

const rollout = (seed: number, trial: number, reward: number) => ({
  ...syntheticEpisode(seed),
  task: { seed, split: 'synthetic' as const },
  trial,
  reward,
});
const shownOf = (...rollouts: ReturnType<typeof rollout>[]) =>
  chooseShown(rollouts).map(({ task, trial, reward }) => [reward, task.seed, trial]);

test('the worst, the best and two from between are shown, of different tasks where that is possible', () => {
  const many = Array.from({ length: 40 }, (_, i) => rollout(i % 10, Math.floor(i / 10), Math.floor(i / 8) / 4));
  const shown = shownOf(...many);
  expect(shown.map(([reward]) => reward)).toEqual([0, 0.25, 0.75, 1]);
  expect(new Set(shown.map(([, seed]) => seed)).size).toBe(4);
  expect(shownOf(rollout(1, 0, 0), rollout(1, 1, 0.5), rollout(1, 2, 1))).toEqual([
    [0, 1, 0],
    [0.5, 1, 1],
    [1, 1, 2],
  ]);
});

test('the order of the rollouts does not matter, and an episode without messages is not shown', () => {
  const some = [rollout(1, 0, 0.2), rollout(2, 0, 0.9), rollout(3, 0, 0.4), rollout(4, 0, 0), rollout(5, 0, 1)];
  expect(shownOf(...some)).toEqual(shownOf(...[...some].reverse()));
  expect(chooseShown([{ ...rollout(1, 0, 0), messages: [] }])).toEqual([]);
});
