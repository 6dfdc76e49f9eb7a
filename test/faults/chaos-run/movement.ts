import type { RunState } from '../../../cli/view/run-state';

/** One disturbance. Times are milliseconds since 1970. */
export interface FaultRecord {
  fault: string;
  /** Kinds of what was hit. */
  targets: string[];
  at: number;
  stage: string;
  note: string;
  /** Milliseconds until the run moved again; null: it has not yet. */
  movedAfterMs: number | null;
}

/** A run at one moment. */
export interface Look {
  state: RunState;
  /** Events in the histories of its workflows that run. Repeated attempts of an activity add none. */
  events: number;
}

/** Sees whether a run moves: its history grows, or a counter of an activity passes what it was. */
export class Movement {
  private events = -1;
  private done = new Map<string, number>();
  private lastAt = Date.now();
  /** Stage in which the run was seen last. */
  stage = 'start';
  /** Longest time without a movement, in milliseconds. */
  longestSilenceMs = 0;
  readonly faults: FaultRecord[] = [];

  /** Takes a look at the run; null: the server gave no answer. */
  look(look: Look | null): void {
    const now = Date.now();
    this.longestSilenceMs = Math.max(this.longestSilenceMs, now - this.lastAt);
    if (look === null) return;
    this.stage = stageOf(look.state) ?? this.stage;
    if (!this.hasMoved(look)) return;
    this.lastAt = now;
    for (const fault of this.faults) fault.movedAfterMs ??= now - fault.at;
  }

  /** Milliseconds since the run moved. */
  get silentMs(): number {
    return Date.now() - this.lastAt;
  }

  /** Notes a disturbance. */
  disturbed(fault: string, targets: readonly string[], note: string): void {
    this.faults.push({ fault, targets: [...targets], at: Date.now(), stage: this.stage, note, movedAfterMs: null });
  }

  private hasMoved({ state, events }: Look): boolean {
    if (events !== this.events) {
      this.events = events;
      this.done = new Map();
      for (const [key, done] of counters(state)) this.done.set(key, done);
      return true;
    }
    let moved = false;
    for (const [key, done] of counters(state)) {
      if (done <= (this.done.get(key) ?? 0)) continue;
      this.done.set(key, done);
      moved = true;
    }
    return moved;
  }
}

const counters = ({ activities }: RunState): [string, number][] =>
  activities.map(({ workflowId, activityType, progress }) => [`${workflowId} ${activityType}`, progress?.done ?? 0]);

/** Null: the run says nothing of its stages at the moment. */
function stageOf({ progress, status }: RunState): string | null {
  if (status !== 'running') return 'end';
  return progress?.stages.find(({ status: s }) => s === 'running' || s === 'paused')?.name ?? null;
}
