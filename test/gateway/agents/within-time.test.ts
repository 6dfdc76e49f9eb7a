import { getEventListeners } from 'node:events';
import { TimeOver, withinTime } from '../../../gateway/agents/within-time';

const never = () => new Promise<never>(() => undefined);

test('work that is done in time gives its result, and leaves no timer behind', async () => {
  jest.useFakeTimers();
  try {
    expect(await withinTime(1_000, () => Promise.resolve(7))).toBe(7);
    await expect(withinTime(1_000, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

test('work that takes longer is told so, also where it does not listen', async () => {
  let told: unknown;
  const listens = withinTime(1, (signal) => {
    signal.addEventListener('abort', () => (told = signal.reason));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    return never();
  });
  await expect(listens).rejects.toThrow(TimeOver);
  expect(told).toBeInstanceOf(TimeOver);
  await expect(withinTime(1, never)).rejects.toThrow('It took longer than 1 ms.');
});

test('work that rejects because it was aborted still took too long', async () => {
  const work = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  await expect(withinTime(1, work)).rejects.toThrow(TimeOver);
});
