import { setTimeout as sleep } from 'node:timers/promises';
import type { CallRecord } from '../../contracts/artifacts/call-record';
import type { CallLedger } from '../../llm';
import type { ArtifactStore, Segment } from '../../store';

/** Milliseconds before an append is repeated: the first delay and the longest. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/** Options for writing a segment of paid answers. */
export interface PaidSegmentOptions {
  /** Counts the calls whose answers are appended. Undefined: nobody counts them. */
  ledger: CallLedger | undefined;
  /** When it fires, the waiting for a disk ends after a last try. An answer that still cannot be written is lost. */
  signal: AbortSignal;
  /** Shows people a line; undefined removes it. */
  setNote: (note: string | undefined) => void;
}

/**
 * The segment to which an activity appends paid answers. While the disk is full, an answer waits in memory until there
 * is room, because a repeated activity would pay for it again.
 */
export class PaidSegment {
  private readonly segment: Segment;
  private waiting = 0;
  private reopening: Promise<void> | null = null;

  constructor(
    store: ArtifactStore,
    readonly key: string,
    private readonly options: PaidSegmentOptions,
  ) {
    this.segment = store.segment(key);
  }

  /**
   * Appends a line with the record of its call and counts the call. Errors of the file system do not reject it: it
   * repeats the append until it succeeds. Rejects with the signal's reason when the signal fires.
   */
  async append(line: unknown, call: CallRecord): Promise<void> {
    try {
      await this.segment.append(line);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      await this.appendLater(line, error);
    }
    this.options.ledger?.recorded(this.key, call);
  }

  close(): Promise<void> {
    return this.segment.close();
  }

  private async appendLater(line: unknown, first: Error): Promise<void> {
    const { signal, setNote } = this.options;
    this.waiting++;
    let error = first;
    try {
      for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
        setNote(`answers that are paid for wait to be written to ${this.key}: ${error.message}`);
        await sleep(wait, undefined, { signal }).catch(() => undefined);
        await this.reopen();
        try {
          return await this.segment.append(line);
        } catch (again) {
          if (!isSystemError(again)) throw again;
          error = again;
        }
        signal.throwIfAborted();
      }
    } finally {
      if (--this.waiting === 0) setNote(undefined);
    }
  }

  /** Closes the file, because the open file itself may cause the error. The next append opens it again. */
  private reopen(): Promise<void> {
    this.reopening ??= this.segment
      .close()
      .catch(() => undefined)
      .finally(() => (this.reopening = null));
    return this.reopening;
  }
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string' && 'syscall' in error;
