import { setTimeout as delay } from 'node:timers/promises';

/** The time source of activities, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since an arbitrary point: only differences are meaningful. */
  now(): number;
  /** Waits; rejects with the signal's reason as soon as the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
};
