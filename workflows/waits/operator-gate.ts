/** Pauses a workflow, instead of failing it, when a person can correct the failure. */
import { CancellationScope, condition, getExternalWorkflowHandle, setHandler } from '@temporalio/workflow';
import { FAILURES, type FailureType } from '../../contracts/failures/run';
import type { OperatorAnswer, StageStatus } from '../../contracts/messages/run';
import type { RunContext } from '../../contracts/messages/run-context';
import type { WaitingFor } from '../../contracts/names';
import { applicationFailureOf, messageOf } from '../shared/failure-causes';
import { shortLines } from '../shared/single-line';
import { retrySignal, skipSignal, statusSignal } from '../shared/messages';

/** How a wait ends. */
export type Answer = 'retry' | 'skip';

/** The reason for a workflow's wait, and who can end it. */
export interface Wait {
  reason: string;
  who: WaitingFor;
}

interface GateOptions {
  /** The key of the wait: a stage, or the id of a capability. */
  key: string;
  /** The commands that answer a wait, as a sentence. */
  commands: () => string;
  /** Shows the beginning and the end of a wait. */
  show: (status: StageStatus) => Promise<void>;
  /**
   * True when a person has already supplied something that was not tried yet. The gate then answers `retry` at once
   * instead of waiting. Default: never.
   */
  hasNewWork?: () => boolean;
  /** Whether to throw a failure that nobody can cure, instead of waiting: nothing was paid yet. Default false. */
  mayEnd?: boolean;
}

/** Longest reason in a wait, in characters: it travels by signals, and the commands after it must stay visible. */
const MAX_REASON = 1_500;

/** Waits for a person's answer to a failure. */
export class OperatorGate {
  private given: Answer | null = null;
  private waiting = false;

  constructor(private readonly options: GateOptions) {}

  /** Whether it still waits for an answer. */
  get isWaiting(): boolean {
    return this.waiting && this.given === null;
  }

  /** Gives the answer that ends a wait. It has no effect while nobody waits: the next wait drops it. */
  answer(answer: Answer): void {
    this.given = answer;
  }

  /** Shows the reason and waits for the answer. Answers from before the call do not count. */
  async waitForAnswer(wait: Wait): Promise<Answer> {
    this.given = null;
    const { key, commands, show, hasNewWork } = this.options;
    if (hasNewWork?.() === true) return 'retry';
    this.waiting = true;
    await show({ key, text: '', waitingFor: `${wait.reason} ${commands()}`, who: wait.who });
    await condition(() => this.given !== null);
    this.waiting = false;
    await show({ key, text: '', waitingFor: null });
    return this.given ?? 'retry';
  }

  /**
   * Runs an action. After a failure it waits for an answer: `retry` runs the action again, `skip` returns null. Throws
   * a cancellation of the workflow. If `mayEnd` is set, it also throws a failure that nobody can cure.
   */
  async runUnlessSkipped<T>(action: () => Promise<T>): Promise<T | null> {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        const wait = this.waitAfter(error);
        if ((await this.waitForAnswer(wait)) === 'skip') return null;
      }
    }
  }

  /** Like `runUnlessSkipped`, for an action that cannot be left out: it treats `skip` as `retry`. */
  async runUntilDone<T>(action: () => Promise<T>): Promise<T> {
    for (;;) {
      const result = await this.runUnlessSkipped(action);
      if (result !== null) return result;
    }
  }

  private waitAfter(error: unknown): Wait {
    if (CancellationScope.current().consideredCancelled) throw error;
    const failure = applicationFailureOf(error);
    const known = Object.hasOwn(FAILURES, failure?.type ?? '') ? FAILURES[failure?.type as FailureType] : null;
    if (this.options.mayEnd === true && known?.curedBy === 'nobody') throw error;
    const text = shortLines(messageOf(error), MAX_REASON);
    // After a traceback the remedy has a line of its own.
    const then = text.includes('\n') ? '\nWhat to do: ' : ' — ';
    const who = known === null || known.curedBy === 'nobody' ? 'operator' : known.curedBy;
    return { reason: `${failure?.type || 'Error'}: ${text}${known ? `${then}${known.remedy}` : ''}`, who };
  }
}

/** Lets the signals `retry` and `skip` answer the gate of a child workflow. Each may bring another spec for `input`. */
export function takeAnswers(gate: OperatorGate, input: { context: RunContext }): void {
  const take =
    (kind: Answer) =>
    ({ spec }: OperatorAnswer) => {
      if (spec !== undefined) input.context = { ...input.context, spec };
      gate.answer(kind);
    };
  setHandler(retrySignal, take('retry'));
  setHandler(skipSignal, take('skip'));
}

/** Signals a status to the run, which shows it in its progress table. Does nothing when the run has ended. */
export async function reportStatus(runId: string, status: StageStatus): Promise<void> {
  await getExternalWorkflowHandle(runId)
    .signal(statusSignal, status)
    .catch(() => undefined);
}
