// tier: unit
import type { EnvironmentHandle } from '../../../activities/environment';
import type { EnvironmentSource, ModuleSource } from '../../../sandbox';
import { tasksToTry, tryTasks } from '../../../activities/environment-checks/try-tasks';

const SOURCE: ModuleSource = { source: '', trust: 'owner', name: 'desk.py' };

/**
 * A fake environment that pays for its reference solution and takes `ms` of a fake clock for each reset. `opened`: the
 * seconds by which the clock of each process was ahead, and how many tasks were opened in it.
 */
function slowEnvironment(ms: number) {
  let now = 0;
  const opened: { later: number; resets: number }[] = [];
  const open = (source: EnvironmentSource) => {
    const { laterBySeconds = 0 } = source as ModuleSource;
    const process = { later: laterBySeconds, resets: 0 };
    opened.push(process);
    let moves = 0;
    const environment = {
      reference: () => Promise.resolve([{ name: 'send', arguments: {} }, { text: 'done' }]),
      task: () => Promise.resolve({}),
      reset: () => {
        now += ms;
        moves = 0;
        process.resets++;
        return Promise.resolve({ messages: [], tags: [] });
      },
      step: () => Promise.resolve({ observations: [`sent ${++moves}`], done: true }),
      say: () => Promise.resolve({ observations: [''], done: true }),
      evaluate: () => Promise.resolve({ reward: moves, diagnostics: { 'send-once': 'present' } }),
      close: () => Promise.resolve(),
    };
    return Promise.resolve(environment as unknown as EnvironmentHandle);
  };
  return { open, opened, clock: { now: () => now } };
}

async function triedOf(ms: number) {
  const { open, opened, clock } = slowEnvironment(ms);
  const tasks = tasksToTry({ trainSeeds: { start: 0, count: 100 }, heldOutSeeds: { start: 1000, count: 100 } });
  return { tried: await tryTasks(open, SOURCE, tasks, { clock }), opened };
}

test('tasks are spread over both ranges, and a small range is played whole', () => {
  const tasks = tasksToTry({ trainSeeds: { start: 5, count: 701 }, heldOutSeeds: { start: 1000, count: 3 } });
  const of = (name: string) => tasks.filter(({ range }) => range === name).map(({ seed }) => seed);
  expect(of('trainSeeds')).toEqual([5, 105, 205, 305, 405, 505, 605, 705]);
  expect(of('heldOutSeeds')).toEqual([1000, 1001, 1002]);
  expect(tasksToTry({ trainSeeds: { start: 5, count: 1 }, heldOutSeeds: { start: 9, count: 1 } })).toHaveLength(2);
});

test('each task is played with its solution and with silence, and told with moves and answers', async () => {
  const { tried } = await triedOf(1);
  expect(tried).toHaveLength(16);
  expect(tried[1]).toEqual({
    ...{ seed: 1000, range: 'heldOutSeeds', moves: 1, reward: 1, idleReward: 0, changes: null },
    diagnostics: ['send-once'],
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    played: 'send({}) -> "sent 1" (the episode ended there, 1 more move was left)',
  });
});

test('a slow environment is left after some tasks of both ranges', async () => {
  expect((await triedOf(6000)).tried.map(({ range }) => range)).toEqual(['trainSeeds', 'heldOutSeeds']);
});

test('further processes play the tasks again, as long as the environment is quick', async () => {
  const quick = (await triedOf(1)).opened;
  expect(quick).toHaveLength(9);
  expect(new Set(quick.map(({ resets }) => resets))).toEqual(new Set([32]));
  expect(quick.filter(({ later }) => later > 0).length).toBeGreaterThanOrEqual(2);
  expect(quick[1]!.later).toBe(0);
  // Two always, of which one has another clock, and each plays at least one task.
  const slow = (await triedOf(6000)).opened;
  expect(slow.map(({ later, resets }) => [later > 0, resets])).toEqual([
    [false, 4],
    [false, 2],
    [true, 2],
  ]);
});
