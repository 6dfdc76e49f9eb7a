// tier: unit
import type { EnvironmentHandle } from '../../../activities/environment';
import { tasksToTry, tryTasks } from '../../../activities/environment-checks/try-tasks';

/** A fake environment that pays for its reference solution and takes `ms` of a fake clock for each reset. */
function slowEnvironment(ms: number): { environment: EnvironmentHandle; clock: { now: () => number } } {
  let now = 0;
  let moves = 0;
  const environment = {
    reference: () => Promise.resolve([{ name: 'send', arguments: {} }, { text: 'done' }]),
    reset: () => {
      now += ms;
      moves = 0;
      return Promise.resolve({ messages: [], tags: [] });
    },
    step: () => Promise.resolve({ observations: [`sent ${++moves}`], done: true }),
    say: () => Promise.resolve({ observations: [''], done: true }),
    evaluate: () => Promise.resolve({ reward: moves, diagnostics: { 'send-once': 'present' } }),
  };
  return { environment: environment as unknown as EnvironmentHandle, clock: { now: () => now } };
}

function triedOf(ms: number) {
  const { environment, clock } = slowEnvironment(ms);
  const tasks = tasksToTry({ trainSeeds: { start: 0, count: 100 }, heldOutSeeds: { start: 1000, count: 100 } });
  return tryTasks(environment, tasks, { clock });
}

test('tasks are spread over both ranges, and a small range is played whole', () => {
  const tasks = tasksToTry({ trainSeeds: { start: 5, count: 701 }, heldOutSeeds: { start: 1000, count: 3 } });
  const of = (name: string) => tasks.filter(({ range }) => range === name).map(({ seed }) => seed);
  expect(of('trainSeeds')).toEqual([5, 105, 205, 305, 405, 505, 605, 705]);
  expect(of('heldOutSeeds')).toEqual([1000, 1001, 1002]);
  expect(tasksToTry({ trainSeeds: { start: 5, count: 1 }, heldOutSeeds: { start: 9, count: 1 } })).toHaveLength(2);
});

test('each task is played with its solution and with silence, and told with moves and answers', async () => {
  const tried = await triedOf(1);
  expect(tried).toHaveLength(16);
  expect(tried[1]).toEqual({
    ...{ seed: 1000, range: 'heldOutSeeds', moves: 1, reward: 1, idleReward: 0, changes: false },
    diagnostics: ['send-once'],
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    played: 'send({}) -> "sent 1" (the episode ended there, 1 more move was left)',
  });
});

test('a slow environment is left after some tasks of both ranges', async () => {
  expect((await triedOf(6000)).map(({ range }) => range)).toEqual(['trainSeeds', 'heldOutSeeds']);
});
