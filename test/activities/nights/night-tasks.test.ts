// tier: unit
import { nightTasks } from '../../../activities/nights/night-tasks';

describe('tasks of a night', () => {
  const train = { start: 100, count: 300 };

  test('each night has the next block, and a round has each task once', () => {
    expect(nightTasks(train, 2, 1)).toEqual([{ start: 100, count: 75 }]);
    expect(nightTasks(train, 2, 2)).toEqual([{ start: 175, count: 75 }]);
    expect(nightTasks(train, 2, 5)).toEqual([{ start: 100, count: 75 }]);
  });

  test('a night that watches plays the next block as well, and later nights begin where they would have', () => {
    expect(nightTasks(train, 2, 2, 2)).toEqual([{ start: 175, count: 150 }]);
    expect(nightTasks(train, 2, 3)).toEqual([{ start: 250, count: 75 }]);
    expect(nightTasks(train, 2, 4, 2)).toEqual([
      { start: 325, count: 75 },
      { start: 100, count: 75 },
    ]);
    expect(nightTasks({ start: 0, count: 8 }, 2, 7, 2)).toEqual([{ start: 0, count: 8 }]);
  });

  test('a block wraps at the end, and is never larger than what there is', () => {
    expect(nightTasks({ start: 0, count: 50 }, 2, 3)).toEqual([
      { start: 40, count: 10 },
      { start: 0, count: 10 },
    ]);
    expect(nightTasks({ start: 0, count: 8 }, 2, 7)).toEqual([{ start: 0, count: 8 }]);
  });
});
