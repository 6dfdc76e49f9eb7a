/** Pause, don't lose: a failure that a person can cure makes the workflow wait instead of end. */
import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  condition,
  getExternalWorkflowHandle,
  setHandler,
} from '@temporalio/workflow';
import { FAILURES, type FailureType, PAUSING_FAILURES } from '../contracts/failures/run';
import type { StageStatus } from '../contracts/messages/run';
import { statusSignal, retrySignal, skipSignal } from './messages';

/**
 * The application failure at the bottom of an activity's or child's failure; null for anything else (timeouts,
 * cancellation).
 */
export function rootFailure(error: unknown): ApplicationFailure | null {
  let cause: unknown = error;
  while (cause instanceof ActivityFailure || cause instanceof ChildWorkflowFailure) cause = cause.cause;
  return cause instanceof ApplicationFailure ? cause : null;
}

/** What is wrong and what to do, for people. */
export function explain(failure: ApplicationFailure): string {
  const known = FAILURES[failure.type as FailureType] as (typeof FAILURES)[FailureType] | undefined;
  return `${failure.type ?? 'Error'}: ${failure.message}${known ? ` — ${known.remedy}` : ''}`;
}

type Answer = 'retry' | 'skip';

/**
 * Waits for a person's answer, says so to whoever shows it. One per workflow: it owns the signals `retry` and `skip`.
 */
export class OperatorGate {
  private answer: Answer | null = null;

  /**
   * `say` receives the reason when the wait begins and null when it ends. While `answered` says that a person's work is
   * there and was not tried, there is no wait: the answer is to retry.
   */
  constructor(
    private readonly say: (reason: string | null) => void | Promise<void>,
    private readonly answered: () => boolean = () => false,
  ) {
    setHandler(retrySignal, () => void (this.answer = 'retry'));
    setHandler(skipSignal, () => void (this.answer = 'skip'));
  }

  /** An answer that came another way than by the signals `retry` and `skip`. */
  answerWith(answer: Answer): void {
    this.answer = answer;
  }

  async waitForAnswer(reason: string): Promise<Answer> {
    this.answer = null;
    if (this.answered()) return 'retry';
    await this.say(reason);
    await condition(() => this.answer !== null);
    await this.say(null);
    return this.answer ?? 'retry';
  }

  /**
   * Runs an action again and again until it ends without a failure that a person can cure, or the answer is to skip:
   * then null.
   */
  async runUnlessSkipped<T>(action: () => Promise<T>): Promise<T | null> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        const failure = rootFailure(error);
        if (failure === null || !PAUSING_FAILURES.includes(failure.type as FailureType)) throw error;
        if ((await this.waitForAnswer(explain(failure))) === 'skip') return null;
      }
    }
  }
}

/** Sends a line, and the reason of a wait, to the run's stage table. A run that is gone needs no note. */
export async function reportStatus(runId: string, note: StageStatus): Promise<void> {
  await getExternalWorkflowHandle(runId)
    .signal(statusSignal, note)
    .catch(() => undefined);
}
