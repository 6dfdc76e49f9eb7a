import { Context } from '@temporalio/activity';
import type { TrainingReason } from '../contracts/artifacts/training';
import { HEARTBEAT_MS } from '../contracts/limits';
import type { StageName } from '../contracts/names';
import type { StageProgress } from '../contracts/messages/run-context';

/** What a `Progress` reports about. */
export interface ProgressOptions {
  stage: StageName;
  /** The unit of the count, in the plural. */
  unit: string;
  total: number;
  /** Units that earlier attempts have done; they do not count for the rate. Default 0. */
  done?: number;
  /** Milliseconds between heartbeats. Default HEARTBEAT_MS.every. */
  everyMs?: number;
  /** One line for people, shown until `setNote` sets another. */
  note?: string;
}

/**
 * The counter of a long activity: make it with `using`. It sends heartbeats by itself, the first at once and the last
 * at the end of the block.
 */
export class Progress implements Disposable {
  private readonly heartbeat = Context.current().heartbeat;
  private readonly timer: NodeJS.Timeout;
  private total: number;
  private before: number;
  private done: number;
  private start = Date.now();
  private isGrowing = false;
  private note: string | undefined;
  private reason: TrainingReason | undefined;

  constructor(private readonly options: ProgressOptions) {
    const { total, done = 0, note, everyMs = HEARTBEAT_MS.every } = options;
    this.total = total;
    this.before = this.done = done;
    this.note = note;
    this.heartbeat(this.snapshot());
    this.timer = setInterval(() => this.heartbeat(this.snapshot()), everyMs);
  }

  /**
   * Counts results. Call it once the results are in the segment: a heartbeat must not count work that a retry would
   * repeat.
   */
  advance(count = 1): void {
    this.done += count;
  }

  /**
   * Sets the count for work that is counted elsewhere, and the total if that was unknown before. The rate starts at the
   * first increase, because the earlier time was spent waiting and loading.
   */
  setDone(done: number, total = this.total): void {
    this.total = total;
    if (!this.isGrowing && done > this.before) {
      this.isGrowing = true;
      this.start = Date.now();
      this.before = done;
    }
    this.done = done;
  }

  /** Sets the line for people, such as the reason of the stage's wait; undefined restores the first note. */
  setNote(note: string | undefined): void {
    this.note = note ?? this.options.note;
  }

  /** Sets why a training waits or runs as it does; undefined removes the reason. */
  setReason(reason: TrainingReason | undefined): void {
    this.reason = reason;
  }

  snapshot(): StageProgress {
    const { done, total, note, reason } = this;
    const { stage, unit } = this.options;
    const seconds = (Date.now() - this.start) / 1000;
    const ratePerSecond = seconds > 0 ? (done - this.before) / seconds : 0;
    const secondsLeft = ratePerSecond > 0 ? (total - done) / ratePerSecond : null;
    return { stage, unit, done, total, ratePerSecond, secondsLeft, note, reason };
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
    this.heartbeat(this.snapshot());
  }
}
