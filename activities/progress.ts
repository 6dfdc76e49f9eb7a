import type { TrainingReason } from '../contracts/artifacts/training';
import { HEARTBEAT_MS } from '../contracts/limits';
import type { StageName } from '../contracts/names';
import type { StageProgress } from '../contracts/messages/run-context';

/** What `startProgress` reports about. */
export interface ProgressOptions {
  stage: StageName;
  /** The unit of the count, in the plural. */
  unit: string;
  total: number;
  /** Units done by earlier attempts; they do not count for the rate. Default 0. */
  done?: number;
  heartbeat: (progress: StageProgress) => void;
  /** Milliseconds between heartbeats. Default HEARTBEAT_MS.every. */
  everyMs?: number;
  /** One line for people, shown while `setNote` has set no other. */
  note?: string;
}

/** The counter of a long activity. It sends heartbeats by itself until it is stopped. */
export interface Progress {
  /**
   * Counts results. Call it after they are in the segment: a heartbeat must not count work that a retry would repeat.
   */
  advance(count?: number): void;
  /**
   * Sets the count, and the total where that was not known before, for work that is counted elsewhere. The rate starts
   * at the first increase, because the time before was spent waiting and loading.
   */
  setDone(done: number, total?: number): void;
  /** Sets the line for people, such as the reason of the stage's wait; undefined restores the first note. */
  setNote(note: string | undefined): void;
  /** Sets why a training waits or runs as it does; undefined removes the reason. */
  setReason(reason: TrainingReason | undefined): void;
  snapshot(): StageProgress;
  /** Sends a last heartbeat and stops. */
  stop(): void;
}

/** Starts heartbeats with the stage's progress, the first at once. */
export function startProgress(options: ProgressOptions): Progress {
  const { stage, unit, heartbeat } = options;
  let { total } = options;
  let before = options.done ?? 0;
  let start = Date.now();
  let done = before;
  let isGrowing = false;
  let note = options.note;
  let reason: TrainingReason | undefined;
  const snapshot = (): StageProgress => {
    const seconds = (Date.now() - start) / 1000;
    const ratePerSecond = seconds > 0 ? (done - before) / seconds : 0;
    const secondsLeft = ratePerSecond > 0 ? (total - done) / ratePerSecond : null;
    return {
      stage,
      unit,
      done,
      total,
      ratePerSecond,
      secondsLeft,
      ...(note === undefined ? {} : { note }),
      ...(reason === undefined ? {} : { reason }),
    };
  };
  heartbeat(snapshot());
  const timer = setInterval(() => heartbeat(snapshot()), options.everyMs ?? HEARTBEAT_MS.every);
  return {
    advance(count = 1) {
      done += count;
    },
    setDone(count, of) {
      total = of ?? total;
      if (!isGrowing && count > before) {
        isGrowing = true;
        start = Date.now();
        before = count;
      }
      done = count;
    },
    setNote(text) {
      note = text ?? options.note;
    },
    setReason(why) {
      reason = why;
    },
    snapshot,
    stop() {
      clearInterval(timer);
      heartbeat(snapshot());
    },
  };
}
