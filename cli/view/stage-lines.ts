import { cleanLine } from '../../contracts/clean-text';
import { type StageName, STAGES } from '../../contracts/names';
import { sameFailureTimes } from '../../contracts/same-failure';
import type { StageProgress } from '../../contracts/messages/run-context';
import { duration } from '../output';
import { activityView } from './activities';
import { progressText } from './explain';
import type { PendingActivity, ReportedFailure, RunState } from './run-state';

/** One stage of a run in the form of the live table. */
export interface StageLine {
  /** `prepare`: the first checks, before the first stage. */
  name: StageName | 'prepare';
  status: string;
  /** Seconds since its beginning, or its duration; null before it began. */
  seconds: number | null;
  text: string;
}

/** Largest number of parallel activities whose notes are shown. */
const NAMED = 6;

/** The notes of parallel activities, such as the arms that are played: `base, a, b`. */
function notesOf(all: readonly StageProgress[]): string | undefined {
  const notes = [...new Set(all.flatMap(({ note }) => note ?? []))];
  if (notes.length === 0) return undefined;
  const more = notes.length > NAMED ? ` and ${notes.length - NAMED} more` : '';
  return `${notes.slice(0, NAMED).join(', ')}${more}`;
}

/**
 * Sums the progress of activities with the same unit: two trainers at 5 of 40 are at 10 of 80 together. Their notes are
 * joined.
 */
function addUp(all: readonly StageProgress[]): StageProgress[] {
  const units = [...new Set(all.map((p) => p.unit))];
  return units.flatMap((unit) => {
    const same = all.filter((p) => p.unit === unit);
    const [first] = same;
    if (first === undefined || same.length === 1) return same;
    const rate = same.reduce((sum, p) => sum + p.ratePerSecond, 0);
    const done = same.reduce((sum, p) => sum + p.done, 0);
    const total = same.reduce((sum, p) => sum + p.total, 0);
    const note = notesOf(same);
    return [
      {
        stage: first.stage,
        unit,
        done,
        total,
        ratePerSecond: rate,
        secondsLeft: rate > 0 ? (total - done) / rate : null,
        ...(note !== undefined && { note }),
      },
    ];
  });
}

function troubleText(attempt: number, { type, message }: ReportedFailure): string {
  const times = sameFailureTimes(message);
  const same = times === null || type === null ? '' : `, ${times} times in a row with the same words`;
  return `attempt ${attempt} after ${type ?? message}${same}`;
}

/** What running activities count, and the trouble that they have. */
function activeText(running: readonly PendingActivity[]): string[] {
  const counted = addUp(running.flatMap((a) => a.progress ?? [])).map(progressText);
  const trouble = running.flatMap((a) =>
    a.lastFailure !== null && (a.status !== 'started' || sameFailureTimes(a.lastFailure.message) !== null)
      ? troubleText(a.attempt, a.lastFailure)
      : [],
  );
  return [...counted, ...new Set(trouble)];
}

/** The first checks as a line while they run; null before and after. */
export function prepareLine({ activities }: RunState): StageLine | null {
  const running = activities.filter(({ activityType }) => activityView(activityType).stage === 'prepare');
  if (running.length === 0) return null;
  return { name: 'prepare', status: 'running', seconds: null, text: activeText(running).join(' · ') };
}

/** The run's stages in the order of the paper; running stages show their heartbeats. */
export function stageLines(state: RunState): StageLine[] {
  return STAGES.map((name) => {
    const stage = state.progress?.stages.find((s) => s.name === name);
    const running = state.activities.filter((a) => (a.progress?.stage ?? activityView(a.activityType).stage) === name);
    const active = stage?.status === 'running' || stage?.status === 'paused';
    const text = [...(active ? activeText(running) : []), stage?.detail ?? ''].filter(Boolean).join(' · ');
    return {
      name,
      status: stage?.status ?? (state.progress === null ? '?' : 'waiting'),
      seconds: stage?.seconds ?? null,
      text,
    };
  });
}

/**
 * A stage as one line of text. The workflow gives no time for a running stage, so the caller that follows the run adds
 * it.
 */
export function formatStageLine({ name, status, seconds, text }: StageLine): string {
  const marks: Record<string, string> = {
    done: 'done',
    running: '…',
    waiting: '',
    skipped: 'skipped',
    failed: 'FAILED',
    paused: 'waits',
  };
  const time = seconds === null ? '' : duration(seconds);
  return `${name.padEnd(9)} ${(marks[status] ?? status).padEnd(8)} ${time.padStart(12)}  ${cleanLine(text)}`.trimEnd();
}
