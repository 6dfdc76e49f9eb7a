// Tier: unit.
import { CommandTime } from '../../../../activities/rollout/program/run-command';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('the time of a command stands still while it waits', async () => {
  const time = new CommandTime(10_000);
  const over = jest.fn();
  void time.isOver.then(over);
  time.resume();
  await jest.advanceTimersByTimeAsync(9_000);
  time.pause();
  await jest.advanceTimersByTimeAsync(3_600_000);
  time.resume();
  time.resume();
  await jest.advanceTimersByTimeAsync(999);
  expect(over).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(1);
  expect(over).toHaveBeenCalled();
});

test('a command that ended has no time that could be over', async () => {
  const time = new CommandTime(1_000);
  time.resume();
  time.pause();
  expect(jest.getTimerCount()).toBe(0);
});
