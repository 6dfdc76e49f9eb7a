import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { REPORTED_ATTEMPTS } from '../contracts/limits';
import type { FailingStatus } from '../contracts/messages/run';
import { MESSAGES } from '../contracts/names';
import { sameFailureText } from '../contracts/same-failure';

/** From this number on, a failure says how often it came in a row with the same words. */
const WORTH_A_WORD = 3;

/** Number of failing activities that a process remembers. */
const MOST_REMEMBERED = 1_000;

/** With pauses of half a minute, this number of attempts takes half an hour. */
const ATTEMPTS_BETWEEN_REPORTS = 64;

/** An attempt that lasted this long made progress. An attempt that finds a service down fails sooner. */
const GOT_ON_MS = 10 * 60_000;

/**
 * Whether an attempt of this length made progress before it failed. Each such attempt is reported, because there cannot
 * be many.
 */
export const hasGotOn = (attempt: number, lastedMs: number): boolean =>
  attempt >= REPORTED_ATTEMPTS && lastedMs >= GOT_ON_MS;

/**
 * Whether the failure of this attempt is shown in the run's progress table. Every report is a row of the run's
 * timeline. So they become rare: the 8th, 16th, 32nd and 64th attempt, then about every half hour.
 */
export function isReported(attempt: number): boolean {
  if (attempt < REPORTED_ATTEMPTS) return false;
  return Number.isInteger(Math.log2(attempt)) || attempt % ATTEMPTS_BETWEEN_REPORTS === 0;
}

/**
 * Counts in how many attempts of an activity, one after the other, the same failure came. A process knows the attempts
 * that it made itself.
 */
export class SameFailures {
  private readonly last = new Map<string, { reason: string; times: number }>();

  /** Returns the count, this failure included. */
  count(activity: string, reason: string): number {
    const before = this.last.get(activity);
    const times = before?.reason === reason ? before.times + 1 : 1;
    this.forget(activity);
    this.last.set(activity, { reason, times });
    for (const [oldest] of this.last) if (this.last.size > MOST_REMEMBERED) this.forget(oldest);
    return times;
  }

  forget(activity: string): void {
    this.last.delete(activity);
  }
}

const sameFailures = new SameFailures();

/** Says in a failure's own words that it came before, so that everybody who shows the last failure shows that too. */
function saySame(error: unknown, reason: string): void {
  if (!(error instanceof ApplicationFailure)) return;
  const times = sameFailures.count(idOfActivity(), reason);
  if (times >= WORTH_A_WORD) error.message += ` ${sameFailureText(times)}`;
}

/**
 * Interceptor that tells a run when an activity keeps failing, and when it recovers. Temporal repeats such an activity
 * without a limit, and the workflow does not see its attempts.
 */
export const repeatedFailureInterceptor = (): { inbound: ActivityInboundCallsInterceptor } => ({
  inbound: {
    async execute(input, next) {
      const { attempt } = Context.current().info;
      const begunMs = Date.now();
      try {
        const result = await next(input);
        sameFailures.forget(idOfActivity());
        if (attempt > REPORTED_ATTEMPTS) await reportToRun({ key: keyOfActivity(), attempts: null });
        return result;
      } catch (error) {
        const ends = error instanceof ApplicationFailure && error.nonRetryable === true;
        if (ends && attempt > REPORTED_ATTEMPTS) await reportToRun({ key: keyOfActivity(), attempts: null });
        const reason = reasonOf(error);
        if (ends) sameFailures.forget(idOfActivity());
        else saySame(error, reason);
        const gotOn = hasGotOn(attempt, Date.now() - begunMs);
        if (!ends && !(error instanceof CancelledFailure) && (gotOn || isReported(attempt)))
          await reportToRun({
            key: keyOfActivity(),
            attempts: attempt,
            sinceMs: Context.current().info.scheduledTimestampMs,
            reason,
            gotOn,
          });
        throw error;
      }
    },
  },
});

function idOfActivity(): string {
  const { activityId, workflowExecution } = Context.current().info;
  return `${workflowExecution?.workflowId}/${workflowExecution?.runId}/${activityId}`;
}

/** `b: trainAdapter` for an activity of the child workflow `<run>/sharpen/b`; for others only the activity type. */
function keyOfActivity(): string {
  const { activityType, workflowExecution } = Context.current().info;
  const [, child, part] = (workflowExecution?.workflowId ?? '').split('/');
  return child === 'sharpen' && part !== undefined ? `${part}: ${activityType}` : activityType;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const type = error instanceof ApplicationFailure ? error.type : error.name;
  return `${type ?? 'Error'}: ${error.message}`;
}

async function reportToRun(status: FailingStatus): Promise<void> {
  const { info, client } = Context.current();
  // A child's id begins with the id of its run, before the first slash.
  const runId = info.workflowExecution?.workflowId.split('/')[0];
  if (runId === undefined) return;
  try {
    await client.workflow.getHandle(runId).signal(MESSAGES.failingSignal, status);
  } catch {
    // Either the run has ended, or the server is busy; then the next report says the same.
  }
}
