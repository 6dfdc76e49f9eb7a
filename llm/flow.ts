import { CancelledFailure } from '@temporalio/common';

/** Lets at most `limit` actions run at once; the others wait in order. */
export class Limiter {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly limit: number) {}

  /** Runs the action when a place is free and gives the place back however it ends. */
  async run<T>(action: () => Promise<T>): Promise<T> {
    if (this.running >= this.limit) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running++;
    try {
      return await action();
    } finally {
      // The place goes to the next in line without being freed in between, so that nobody can overtake.
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}

/** A pause that all calls to one endpoint share: when one is told to slow down, the others wait as well. */
export class Pause {
  private until = 0;

  /** No call starts in the next `ms` milliseconds. */
  extend(ms: number): void {
    this.until = Math.max(this.until, Date.now() + ms);
  }

  /** Resolves when the pause is over. Throws CancelledFailure when the signal fires before. */
  async over(signal?: AbortSignal): Promise<void> {
    for (let left = this.until - Date.now(); left > 0; left = this.until - Date.now()) await sleep(left, signal);
  }
}

/** Resolves after `ms` milliseconds. Throws CancelledFailure when the signal fires before. */
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

/** Throws the signal's CancelledFailure when it has fired. */
export function throwIfCancelled(signal?: AbortSignal): void {
  if (!signal?.aborted) return;
  throw signal.reason instanceof CancelledFailure ? signal.reason : new CancelledFailure('The call to the analyst was cancelled.');
}
