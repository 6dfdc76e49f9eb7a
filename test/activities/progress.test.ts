// Tier: unit.
import { MockActivityEnvironment } from '@temporalio/testing';
import { Progress } from '../../activities/progress';

describe('progress', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());
  const start = (done = 0) =>
    new MockActivityEnvironment().run<[], Progress, () => Promise<Progress>>(
      async () => new Progress({ stage: 'sharpen', unit: 'iterations', total: 40, done }),
    );

  test('the rate of what this attempt did leaves out what was done before', async () => {
    const progress = await start(10);
    jest.advanceTimersByTime(10_000);
    progress.advance(5);
    expect(progress.snapshot()).toMatchObject({ done: 15, ratePerSecond: 0.5, secondsLeft: 50 });
    progress[Symbol.dispose]();
  });

  test('what is counted elsewhere is timed from its first growth, not from the wait before', async () => {
    const progress = await start();
    jest.advanceTimersByTime(600_000);
    progress.setDone(0);
    progress.setDone(1);
    expect(progress.snapshot()).toMatchObject({ done: 1, secondsLeft: null });
    jest.advanceTimersByTime(10_000);
    progress.setDone(6);
    jest.advanceTimersByTime(10_000);
    progress.setDone(11);
    expect(progress.snapshot()).toMatchObject({ done: 11, ratePerSecond: 0.5, secondsLeft: 58 });
    progress[Symbol.dispose]();
  });
});
