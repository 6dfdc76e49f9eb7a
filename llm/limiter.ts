import { setTimeout as wait } from 'node:timers/promises';
import { CancelledFailure } from '@temporalio/common';

/**
 * Lets at most `limit` actions run at once. Among waiting actions the lowest `priority` number goes first, and among
 * equal numbers the oldest. Chunks that run side by side therefore end one after the other instead of all together, so
 * one of them always has work left while the next is fetched.
 */
export class ConcurrencyLimiter {
  private running = 0;
  /** The waiting actions, in the order in which they will begin. */
  private readonly waiting: { priority: number; begin: () => void }[] = [];

  constructor(private readonly limit: number) {}

  /** Runs the action when a place is free. The place becomes free however the action ends. */
  async run<T>(action: () => Promise<T>, priority = 0): Promise<T> {
    if (this.running < this.limit) this.running++;
    else await new Promise<void>((begin) => this.enqueue(priority, begin));
    try {
      return await action();
    } finally {
      // The place goes straight to the next in line: if it were freed first, a newcomer could overtake.
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

/** Waits `ms` milliseconds. Throws CancelledFailure when the signal fires before that. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  // It rejects only when the signal fires. The next line then throws the right error.
  await wait(ms, undefined, { signal }).catch(() => undefined);
  throwIfCancelled(signal);
}

/** Throws CancelledFailure when the signal has fired: its own reason if that is one. */
export function throwIfCancelled(signal?: AbortSignal): void {
  if (!signal?.aborted) return;
  throw signal.reason instanceof CancelledFailure
    ? signal.reason
    : new CancelledFailure('The call to the analyst was cancelled.');
}
