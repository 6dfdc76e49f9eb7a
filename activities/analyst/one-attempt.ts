import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than an attempt needs to notice that it is over and to store the answers in flight. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Makes the attempts of one piece of work run one after another within a process. Temporal starts the next attempt when
 * the last one's heartbeats stop for a while, for example because Temporal's own disk was full. The last attempt may
 * still be running, with answers that are paid for. It stores them before it ends.
 */
export class OneAttempt {
  private readonly running = new Map<string, Promise<void>>();

  /**
   * Waits at most a minute until the previous attempt has ended. Returns a function to call when this attempt ends.
   * @param setNote shows people why it waits; undefined removes the note.
   * @throws the signal's reason when the signal fires.
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
