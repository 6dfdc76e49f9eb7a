import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than an attempt takes to hear that it is over and to store the answers that are under way. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Lets the attempts of one piece of work follow each other within a process. Temporal starts the next attempt when it
 * has had no heartbeat of the last one for a while, for example because Temporal's own disk was full. The last attempt
 * may still run and hold answers that are paid for. It stores them before it ends.
 */
export class OneAttempt {
  private readonly running = new Map<string, Promise<void>>();

  /**
   * Waits until the attempt before has ended, at most a minute. The result says that this one has ended.
   * @param setNote shows people the reason of the wait; undefined removes it.
   * @throws the reason of the signal when that fires.
   */
  async begin(work: string, signal: AbortSignal, setNote: (note: string | undefined) => void): Promise<() => void> {
    const before = this.running.get(work);
    let end = (): void => undefined;
    const mine = new Promise<void>((resolve) => (end = resolve));
    this.running.set(work, mine);
    const leave = () => {
      if (this.running.get(work) === mine) this.running.delete(work);
      end();
    };
    if (before !== undefined) {
      setNote('waits for the attempt before, which stores the answers that are under way');
      const timeUp = sleep(LONGEST_WAIT_MS, undefined, { signal, ref: false }).catch(() => undefined);
      await Promise.race([before, timeUp]);
      setNote(undefined);
      if (signal.aborted) {
        leave();
        throw signal.reason;
      }
    }
    return leave;
  }
}
