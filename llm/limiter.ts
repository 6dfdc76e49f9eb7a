import { CancelledFailure } from '@temporalio/common';

/**
 * Lets at most `limit` actions run at once. Of those that wait, the lowest `priority` number goes first, and of equal
 * ones the one that came first. Chunks that run side by side therefore end one after the other instead of all together,
 * so one of them always has work left while the next is fetched.
 */
export class ConcurrencyLimiter {
  private running = 0;
  /** Waiting actions by priority, the lowest number first. */
  private readonly lines: { priority: number; waiting: (() => void)[]; next: number }[] = [];

  constructor(private readonly limit: number) {}

  /** Runs the action when a place is free. The place becomes free again however the action ends. */
  async run<T>(action: () => Promise<T>, priority = 0): Promise<T> {
    if (this.running >= this.limit) await new Promise<void>((resolve) => this.line(priority).waiting.push(resolve));
    else this.running++;
    try {
      return await action();
    } finally {
      // The place goes straight to the next in line: if it were freed first, a newcomer could overtake.
      const next = this.leave();
      if (next) next();
      else this.running--;
    }
  }

  private line(priority: number) {
    const at = this.lines.findIndex((line) => line.priority >= priority);
    const found = this.lines[at];
    if (found?.priority === priority) return found;
    const line = { priority, waiting: [], next: 0 };
    this.lines.splice(at === -1 ? this.lines.length : at, 0, line);
    return line;
  }

  private leave(): (() => void) | undefined {
    const line = this.lines[0];
    const next = line?.waiting[line.next++];
    if (line && line.next >= line.waiting.length) this.lines.shift();
    return next;
  }
}

/** Waits `ms` milliseconds. Throws CancelledFailure when the signal fires before that. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  throwIfCancelled(signal);
  await new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener('abort', finish);
  });
  throwIfCancelled(signal);
}

/** Throws CancelledFailure when the signal has fired: its own reason if that is one. */
export function throwIfCancelled(signal?: AbortSignal): void {
  if (!signal?.aborted) return;
  throw signal.reason instanceof CancelledFailure
    ? signal.reason
    : new CancelledFailure('The call to the analyst was cancelled.');
}
