import {
  type AnalystPrices,
  type AnalystUse,
  BATCH_KIND,
  type CallUse,
  dollarsForUse,
  parseAnalystUse,
  pricesOf,
  withLost,
} from '../../contracts/artifacts/analyst-use';
import { type CallRecord, useOfRecord } from '../../contracts/artifacts/call-record';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { BudgetSpec } from '../../contracts/config/analyst-spec';
import type { Analyst, AnalystAnswer, AnalystRequest, BatchAnswer, BatchOptions, CallLedger } from '../../llm';
import { layout, type ArtifactStore } from '../../store';
import { overLimit } from '../budget/over-limit';
import { UseMeter } from '../budget/use-meter';
import { callRecord } from './recorded-calls';

const NOTHING: CallUse = {
  calls: 0,
  asks: 0,
  tries: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  unanswered: 0,
  shortened: 0,
  redacted: {},
};

/** Reads a run's use of the analyst so far, by kind of call; empty before the first. */
export async function readAnalystUse(store: ArtifactStore, runId: string): Promise<AnalystUse> {
  return parseAnalystUse((await store.readDocument(layout.analystUse(runId)))?.value).uses;
}

/** Counts the analyst use of one run, and refuses a call that would exceed the budget. */
export class BudgetMeter implements CallLedger {
  private readonly meter: UseMeter<AnalystUse>;

  constructor(store: ArtifactStore, runId: string, { analyst, budget }: PreparedSpec['spec']) {
    const prices = pricesOf(analyst);
    this.meter = new UseMeter(store, runId, {
      key: layout.analystUse(runId),
      parse: parseAnalystUse,
      excess: (limits, use, running) => excess(runId, limits, use, { prices, running }),
      budget,
    });
  }

  /**
   * Wraps an analyst so that its calls count against the run's budget. Its `ask` and `askBatch` throw Budget.Spent
   * before a call that would exceed it.
   */
  metered(analyst: Analyst): Analyst {
    return {
      model: analyst.model,
      ledger: this,
      ask: (request) => this.ask(analyst, request),
      askBatch: (requests, options) => this.askBatch(analyst, requests, options),
      flushUsage: async () => {
        // If counts cannot be written, the next write includes them. The activity does not fail.
        await this.meter.write().catch(() => undefined);
        await analyst.flushUsage();
      },
    };
  }

  opened(segment: string, calls: readonly CallRecord[], lines: number): Promise<void> {
    return this.meter.opened(segment, calls.map(useOfRecord), lines);
  }

  recorded(segment: string, call: CallRecord): void {
    this.meter.add(segment, useOfRecord(call));
  }

  private async ask<T>(analyst: Analyst, request: AnalystRequest<T>): Promise<AnalystAnswer<T>> {
    await this.meter.admit();
    let isRunning = true;
    // A call ends before its answer is stored. Otherwise it would count twice against the budget, as finished and as
    // running.
    const end = (count?: () => void): void => {
      if (!isRunning) return;
      isRunning = false;
      this.meter.ended();
      count?.();
    };
    try {
      return await analyst.ask({
        ...request,
        keep: async (answer) => {
          if (request.isRecorded !== true) end(() => this.count(request, answer, false));
          await request.keep?.(answer);
          end();
        },
        keepRefusal: async (refusal) => {
          if (request.isRecorded !== true) end(() => this.count(request, refusal, true));
          await request.keepRefusal?.(refusal);
          end();
        },
        // Lost requests count at once, because the call may be lost again or fail.
        onLost: (lost) => {
          const use = { ...NOTHING, lost: 1, lostPromptTokens: lost.promptTokens };
          this.meter.add(null, { [request.kind]: use });
          request.onLost?.(lost);
        },
      });
    } finally {
      end();
    }
  }

  /** A batch is paid as a whole, so it only starts if all of it probably fits into the budget. */
  private async askBatch<T>(
    analyst: Analyst,
    requests: readonly AnalystRequest<T>[],
    options?: BatchOptions,
  ): Promise<BatchAnswer<T>[]> {
    await this.meter.admit(requests.length);
    try {
      const answers = await analyst.askBatch(requests, options);
      answers.forEach(({ answer, wasted }, i) => {
        if (requests[i]?.isRecorded === true) return;
        const request = { ...(requests[i] as AnalystRequest<T>), kind: `${requests[i]?.kind}${BATCH_KIND}` };
        if (answer !== null) this.count(request, answer, false);
        else if (wasted.promptTokens > 0)
          this.meter.add(null, { [request.kind]: { ...NOTHING, asks: 1, tries: 1, ...wasted } });
      });
      return answers;
    } finally {
      this.meter.ended(requests.length);
    }
  }

  private count(
    request: { kind: string; key: string; shortened?: boolean },
    answer: Omit<AnalystAnswer<unknown>, 'value' | 'model'>,
    unanswered: boolean,
  ): void {
    // The counts do not depend on the model.
    const record = callRecord(request, { ...answer, model: '' }, unanswered);
    this.meter.add(null, useOfRecord(record));
  }
}

/** Why `running` more calls to the analyst would pass the budget; null if they fit. */
function excess(
  runId: string,
  budget: BudgetSpec,
  use: AnalystUse,
  { prices, running }: { prices: AnalystPrices | null; running: number },
): string | null {
  const uses = Object.values(use).map(withLost);
  const calls = uses.reduce((sum, { calls }) => sum + calls, 0);
  const tokens = uses.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0);
  const spent = { tokens, usd: prices === null ? null : dollarsForUse(use, prices) };
  const over = overLimit(budget, spent, { calls, running });
  if (over === null) return null;
  return (
    `${over.words} are spent on ${calls} calls to the analyst; one more would pass the budget. ` +
    `Raise it with: whet budget ${runId} --${over.amount} N`
  );
}
