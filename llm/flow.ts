import { CancelledFailure } from '@temporalio/common';

/**
 * Lets at most `limit` actions run at once. The others wait: a lower turn goes first, and in one turn, who came first.
 * Chunks that run side by side then end one after the other instead of all together, so that there is always one with
 * work left while the next is fetched.
 */
export class Limiter {
  private running = 0;
  /** Waiting actions by turn, the lowest turn first. */
  private readonly lines: { turn: number; waiting: (() => void)[]; next: number }[] = [];

  constructor(private readonly limit: number) {}

  /** Runs the action when a place is free and gives the place back however it ends. */
  async run<T>(action: () => Promise<T>, turn = 0): Promise<T> {
    if (this.running >= this.limit) await new Promise<void>((resolve) => this.line(turn).waiting.push(resolve));
    else this.running++;
    try {
      return await action();
    } finally {
      // The place goes to the next in line without being freed in between, so that nobody can overtake.
      const next = this.leave();
      if (next) next();
      else this.running--;
    }
  }

  private line(turn: number) {
    const at = this.lines.findIndex((line) => line.turn >= turn);
    const found = this.lines[at];
    if (found?.turn === turn) return found;
    const line = { turn, waiting: [], next: 0 };
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
  throw signal.reason instanceof CancelledFailure
    ? signal.reason
    : new CancelledFailure('The call to the analyst was cancelled.');
}
