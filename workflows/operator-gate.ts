/** Pauses a workflow instead of failing it when a person can correct what went wrong. */
import { type ApplicationFailure, condition, getExternalWorkflowHandle, setHandler } from '@temporalio/workflow';
import { FAILURES, type FailureType, PAUSING_FAILURES } from '../contracts/failures/run';
import type { StageStatus } from '../contracts/messages/run';
import { applicationFailureOf } from './application-failure';
import { retrySignal, skipSignal, statusSignal } from './messages';

type Answer = 'retry' | 'skip';

/**
 * Waits for a person's answer to a failure. It handles the signals `retry` and `skip`, so a workflow creates one at
 * most.
 */
export class OperatorGate {
  private answer: Answer | null = null;

  /**
   * @param showReason receives the reason when a wait begins, and null when it ends.
   * @param hasNewWork true when a person has already supplied something that was not tried yet. The gate then answers
   *   `retry` at once instead of waiting. Default: never.
   */
  constructor(
    private readonly showReason: (reason: string | null) => Promise<void>,
    private readonly hasNewWork: () => boolean = () => false,
  ) {
    setHandler(retrySignal, () => void (this.answer = 'retry'));
    setHandler(skipSignal, () => void (this.answer = 'skip'));
  }

  /** Ends a wait with `retry`, for an answer that arrives by another signal. */
  retry(): void {
    this.answer = 'retry';
  }

  /** Shows the reason and waits for the answer. Answers given before the call do not count. */
  async waitForAnswer(reason: string): Promise<Answer> {
    this.answer = null;
    if (this.hasNewWork()) return 'retry';
    await this.showReason(reason);
    await condition(() => this.answer !== null);
    await this.showReason(null);
    return this.answer ?? 'retry';
  }

  /**
   * Runs an action. After a failure of PAUSING_FAILURES it waits for an answer: `retry` runs the action again, `skip`
   * returns null. Throws every other failure.
   */
  async runUnlessSkipped<T>(action: () => Promise<T>): Promise<T | null> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        const failure = applicationFailureOf(error);
        if (failure === null || !PAUSING_FAILURES.includes(failure.type as FailureType)) throw error;
        if ((await this.waitForAnswer(describe(failure))) === 'skip') return null;
      }
    }
  }

  /** Like `runUnlessSkipped`, for an action that cannot be left out: it takes `skip` as `retry`. */
  async runUntilDone<T>(action: () => Promise<T>): Promise<T> {
    for (;;) {
      const result = await this.runUnlessSkipped(action);
      if (result !== null) return result;
    }
  }
}

/** Signals a status to the run, which shows it in its progress table. Does nothing when the run has ended. */
export async function reportStatus(runId: string, status: StageStatus): Promise<void> {
  await getExternalWorkflowHandle(runId)
    .signal(statusSignal, status)
    .catch(() => undefined);
}

/** What went wrong and what to do about it. */
function describe(failure: ApplicationFailure): string {
  const known = FAILURES[failure.type as FailureType] as (typeof FAILURES)[FailureType] | undefined;
  return `${failure.type ?? 'Error'}: ${failure.message}${known ? ` — ${known.remedy}` : ''}`;
}
