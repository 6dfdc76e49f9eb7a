import { CancellationScope, condition } from '@temporalio/workflow';
import type { FailureReport, RepeatedFailure, RunWait, WaitDeadlines } from '../../contracts/messages/run';
import { hoursText } from '../shared/single-line';

/** A wait, or a repeated failure, whose deadline has passed. */
export type Overdue = { wait: RunWait; failing: null } | { wait: null; failing: RepeatedFailure };

/** Inputs of `watchWaits`. They are read again after every change. */
export interface WatchedWaits {
  deadlines: () => WaitDeadlines | null;
  waits: () => readonly RunWait[];
  failing: () => readonly RepeatedFailure[];
  /** Ends the wait. It is called once for each, and never throws. */
  end: (overdue: Overdue) => Promise<void>;
}

type Dated = Pick<WatchedWaits, 'deadlines' | 'waits' | 'failing'>;

/** The deadline of a wait in milliseconds since 1970; null: none. */
export function deadlineOf({ who, sinceMs }: Pick<RunWait, 'who' | 'sinceMs'>, deadlines: WaitDeadlines | null) {
  const longest = who === 'approval' ? deadlines?.approvalMs : deadlines?.holdMs;
  return longest === null || longest === undefined ? null : sinceMs + longest;
}

/**
 * Until the returned function is called, ends every wait when its deadline passes. A timer runs only while something
 * with a deadline waits.
 */
export function watchWaits(watched: WatchedWaits): () => void {
  let stopped = false;
  const ended = new Set<string>();
  const pending = () => firstDue(watched, ended);
  void CancellationScope.nonCancellable(async () => {
    for (;;) {
      await condition(() => stopped || pending() !== null);
      const due = pending();
      if (stopped) return;
      if (due === null) continue;
      const left = due.atMs - Date.now();
      if (left > 0) await condition(() => stopped || pending()?.id !== due.id, left);
      else {
        ended.add(due.id);
        await watched.end(due.overdue);
      }
    }
  });
  return () => void (stopped = true);
}

/**
 * Finds the first deadline among the waits and failing activities that have not ended. The deadline of a wait counts
 * from its beginning. The deadline of an activity counts from its last progress, because it may have worked for hours
 * before.
 */
export function firstDue({ deadlines, waits, failing }: Dated, ended: ReadonlySet<string> = new Set()): Due | null {
  const limits = deadlines();
  const all: Due[] = [
    ...waits().map((wait) => dueOf({ wait, failing: null }, wait, limits)),
    ...failing().map((one) => {
      const wait = { key: one.key, who: 'repeated-failure', sinceMs: one.stillSinceMs } as const;
      return dueOf({ wait: null, failing: one }, wait, limits);
    }),
  ].flatMap((due) => (due === null || ended.has(due.id) ? [] : [due]));
  return all.reduce<Due | null>((a, b) => (a === null || b.atMs < a.atMs ? b : a), null);
}

interface Due {
  id: string;
  atMs: number;
  overdue: Overdue;
}

function dueOf(
  overdue: Overdue,
  wait: Pick<RunWait, 'key' | 'who' | 'sinceMs'>,
  deadlines: WaitDeadlines | null,
): Due | null {
  const atMs = deadlineOf(wait, deadlines);
  return atMs === null ? null : { id: `${wait.who} ${wait.key} ${wait.sinceMs} ${atMs}`, atMs, overdue };
}

/** The sentence about a wait that ended unanswered. */
export function overdueSentence({ wait, failing }: Overdue, deadlines: WaitDeadlines | null): string {
  if (wait?.who === 'approval')
    return `Nobody approved the promotion within ${hoursText(deadlines?.approvalMs ?? 0)} (gate.approvalDeadlineHours).`;
  const limit = `${hoursText(deadlines?.holdMs ?? 0)} (schedule.waitDeadlineHours)`;
  return wait === null
    ? `${failing.key} failed again and again for ${limit}; the last time with: ${failing.reason}`
    : `${wait.key} waited for an answer for ${limit}: ${wait.reason}`;
}

/**
 * The start of an activity's time without progress: its first report, or the end of the last attempt that made
 * progress. The activity may have been scheduled long before, and may have worked in between.
 */
export function sinceLastProgress(
  before: RepeatedFailure | undefined,
  { sinceMs, gotOn }: FailureReport,
  nowMs: number,
): number {
  return before?.sinceMs === sinceMs && !gotOn ? before.stillSinceMs : nowMs;
}
