// Tier: unit.
import { startProgress } from '../../activities/progress';

describe('progress', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());
  const start = (done = 0) =>
    startProgress({ stage: 'sharpen', unit: 'iterations', total: 40, done, heartbeat: () => undefined });

  test('the rate of what this attempt did leaves out what was done before', () => {
    const progress = start(10);
    jest.advanceTimersByTime(10_000);
    progress.advance(5);
    expect(progress.snapshot()).toMatchObject({ done: 15, ratePerSecond: 0.5, secondsLeft: 50 });
    progress.stop();
  });

  test('what is counted elsewhere is timed from its first growth, not from the wait before', () => {
    const progress = start();
    jest.advanceTimersByTime(600_000);
    progress.setDone(0);
    progress.setDone(1);
    expect(progress.snapshot()).toMatchObject({ done: 1, secondsLeft: null });
    jest.advanceTimersByTime(10_000);
    progress.setDone(6);
    jest.advanceTimersByTime(10_000);
    progress.setDone(11);
    expect(progress.snapshot()).toMatchObject({ done: 11, ratePerSecond: 0.5, secondsLeft: 58 });
    progress.stop();
  });
});
