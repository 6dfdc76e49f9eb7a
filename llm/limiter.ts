import { setTimeout as wait } from 'node:timers/promises';
import { CancelledFailure } from '@temporalio/common';

/**
 * Runs at most `limit` actions at once. Among waiting actions the lowest `priority` number goes first; among equal
 * numbers, the oldest. So parallel chunks end one after the other instead of all together, and one of them always has
 * work left while the next is fetched.
 */
export class ConcurrencyLimiter {
  private running = 0;
  /** The waiting actions, in the order in which they will begin. */
  private readonly waiting: { priority: number; begin: () => void }[] = [];

  constructor(private readonly limit: number) {}

  /** Runs the action when a place is free. The place becomes free in any case, even after an error. */
  async run<T>(action: () => Promise<T>, priority = 0): Promise<T> {
    if (this.running < this.limit) this.running++;
    else await new Promise<void>((begin) => this.enqueue(priority, begin));
    try {
      return await action();
    } finally {
      // The place goes directly to the next in line. If it were freed first, a newcomer could overtake.
      const next = this.waiting.shift();
      if (next) next.begin();
      else this.running--;
    }
  }

  private enqueue(priority: number, begin: () => void): void {
    const before = this.waiting.findLastIndex((other) => other.priority <= priority);
    this.waiting.splice(before + 1, 0, { priority, begin });
  }
}

/** Waits `ms` milliseconds. Throws CancelledFailure if the signal fires earlier. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  // It rejects only when the signal fires. Then the next line throws the right error.
  await wait(ms, undefined, { signal }).catch(() => undefined);
  throwIfCancelled(signal);
}

/** Throws CancelledFailure if the signal has fired; it is the signal's own reason if that is a CancelledFailure. */
export function throwIfCancelled(signal?: AbortSignal): void {
  if (!signal?.aborted) return;
  throw signal.reason instanceof CancelledFailure
    ? signal.reason
    : new CancelledFailure('The call to the analyst was cancelled.');
}
