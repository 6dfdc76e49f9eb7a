import {
  type AnalystPrices,
  type AnalystUse,
  type AnalystUseDocument,
  BATCH_KIND,
  type CallUse,
  dollarsForUse,
  parseAnalystUse,
  pricesOf,
  withLost,
} from '../../contracts/artifacts/analyst-use';
import { type CallRecord, useOfRecord } from '../../contracts/artifacts/call-record';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { type BudgetSpec, budgetSpecSchema } from '../../contracts/config/analyst-spec';
import { failure } from '../../contracts/typed-failure';
import {
  contentKey,
  type Analyst,
  type AnalystAnswer,
  type AnalystRequest,
  type BatchAnswer,
  type BatchOptions,
  type CallLedger,
} from '../../llm';
import { changeDocument, layout, type ArtifactStore } from '../../store';
import { callRecord } from './recorded-calls';

/** Milliseconds between two writes of the counts. */
const WRITE_MS = 1_000;

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

interface Counts {
  [name: string]: number | Counts;
}

/** Adds counts by name, at every level. A count that one side lacks is 0. */
function addCounts(a: Counts, b: Counts): Counts {
  const sum = { ...a };
  for (const [name, count] of Object.entries(b)) {
    if (typeof count === 'number') sum[name] = ((sum[name] ?? 0) as number) + count;
    else sum[name] = addCounts((sum[name] ?? {}) as Counts, count);
  }
  return sum;
}

const addAll = (a: AnalystUse, b: AnalystUse): AnalystUse => addCounts(a, b) as unknown as AnalystUse;

/** Reads a run's use of the analyst so far, by kind of call; empty before the first. */
export async function readAnalystUse(store: ArtifactStore, runId: string): Promise<AnalystUse> {
  return (await readUse(store, runId)).uses;
}

const readUse = async (store: ArtifactStore, runId: string): Promise<AnalystUseDocument> =>
  parseAnalystUse((await store.readDocument(layout.analystUse(runId)))?.value);

/** Reads a run's budget: the amounts that `whet budget` set, else those of agent.yaml. */
export async function readBudget(store: ArtifactStore, runId: string, spec: BudgetSpec): Promise<BudgetSpec> {
  const document = await store.readDocument(layout.budget(runId));
  return document === null ? spec : { ...spec, ...budgetSpecSchema.parse(document.value) };
}

/** A count that the document does not have yet. */
interface PendingUse {
  /** Segment with the call's line; null for a call without a record. */
  segment: string | null;
  use: AnalystUse;
}

/** Short name of a segment in the document. */
const nameOf = (segment: string): string => contentKey(segment).slice(0, 16);

/**
 * Counts the analyst use of one run in a document that all workers add to. Refuses a call that would exceed the budget.
 * A worker sees other workers' spending about a second late.
 *
 * The document says how many lines of each segment it has counted. So if a killed worker did not write its counts, they
 * are added when the segment is opened again, and no line counts twice.
 */
export class BudgetMeter implements CallLedger {
  private shared: AnalystUse = {};
  private pending: PendingUse[] = [];
  /** Sum of `pending`. */
  private pendingUse: AnalystUse = {};
  /**
   * For each open segment, the number of lines that the document had counted when this process last read or wrote it.
   */
  private readonly counted = new Map<string, number>();
  private budget: BudgetSpec | null = null;
  private running = 0;
  private lastWrite = Date.now();
  private writing: Promise<void> = Promise.resolve();
  /** The first look at the documents. Calls that begin at the same time share it. */
  private firstLook: Promise<void> | null = null;
  private readonly prices: AnalystPrices | null;

  constructor(
    private readonly store: ArtifactStore,
    private readonly runId: string,
    private readonly spec: PreparedSpec['spec'],
  ) {
    this.prices = pricesOf(spec.analyst);
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
        await this.write().catch(() => undefined);
        await analyst.flushUsage();
      },
    };
  }

  async opened(segment: string, calls: readonly CallRecord[], lines: number): Promise<void> {
    if (lines === 0) return;
    await this.writing.catch(() => undefined);
    const name = nameOf(segment);
    const counted = (await readUse(this.store, this.runId)).counted[name] ?? 0;
    const pending = this.pending.filter((other) => other.segment === name).length;
    this.counted.set(name, counted);
    const uncounted = Math.min(lines - counted - pending, calls.length);
    if (uncounted > 0) for (const call of calls.slice(-uncounted)) this.recorded(segment, call);
  }

  recorded(segment: string, call: CallRecord): void {
    this.add({ segment: nameOf(segment), use: useOfRecord(call) });
  }

  private async ask<T>(analyst: Analyst, request: AnalystRequest<T>): Promise<AnalystAnswer<T>> {
    await this.admit();
    let isRunning = true;
    // A call ends before its answer is stored. Otherwise it would count twice against the budget, as finished and as
    // running.
    const end = (count?: () => void): void => {
      if (!isRunning) return;
      isRunning = false;
      this.running--;
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
          this.add({ segment: null, use: { [request.kind]: use } });
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
    await this.admit(requests.length);
    try {
      const answers = await analyst.askBatch(requests, options);
      answers.forEach(({ answer, wasted }, i) => {
        if (requests[i]?.isRecorded === true) return;
        const request = { ...(requests[i] as AnalystRequest<T>), kind: `${requests[i]?.kind}${BATCH_KIND}` };
        if (answer !== null) this.count(request, answer, false);
        else if (wasted.promptTokens > 0)
          this.add({ segment: null, use: { [request.kind]: { ...NOTHING, asks: 1, tries: 1, ...wasted } } });
      });
      return answers;
    } finally {
      this.running -= requests.length;
    }
  }

  private count(
    request: { kind: string; key: string; shortened?: boolean },
    answer: Omit<AnalystAnswer<unknown>, 'value' | 'model'>,
    unanswered: boolean,
  ): void {
    // The counts do not depend on the model.
    const record = callRecord(request, { ...answer, model: '' }, unanswered);
    this.add({ segment: null, use: useOfRecord(record) });
  }

  private add(pending: PendingUse): void {
    this.pending.push(pending);
    this.pendingUse = addAll(this.pendingUse, pending.use);
    if (Date.now() - this.lastWrite > WRITE_MS) void this.write().catch(() => undefined);
  }

  /**
   * Counts the call as running. Throws Budget.Spent when all running calls together would probably exceed the budget.
   * The check and the count must not be separated by an await. Otherwise calls that start together would not see each
   * other.
   */
  private async admit(calls = 1): Promise<void> {
    if (this.budget === null) await this.lookFirst();
    if (this.excess(calls)) {
      // Since the last read, others may have spent more, or a person may have raised the budget.
      await this.write();
      await this.refresh();
      const excess = this.excess(calls);
      if (excess) throw failure('Budget.Spent', excess);
    }
    this.running += calls;
  }

  private lookFirst(): Promise<void> {
    this.firstLook ??= this.refresh().finally(() => {
      this.firstLook = null;
    });
    return this.firstLook;
  }

  private async refresh(): Promise<void> {
    this.shared = await readAnalystUse(this.store, this.runId);
    this.budget = await readBudget(this.store, this.runId, this.spec.budget);
  }

  private excess(more: number): string | null {
    const { usd, tokens } = this.budget ?? {};
    if (usd === undefined && tokens === undefined) return null;
    const use = addAll(this.shared, this.pendingUse);
    const uses = Object.values(use).map(withLost);
    const calls = uses.reduce((sum, use) => sum + use.calls, 0);
    const withRunning = (spent: number) => spent * (1 + (calls === 0 ? 0 : (this.running + more) / calls));
    const spentTokens = uses.reduce((sum, use) => sum + use.promptTokens + use.completionTokens, 0);
    const sentence = (spent: string, option: string): string =>
      `${spent} are spent on ${calls} calls to the analyst; one more would pass the budget. ` +
      `Raise it with: whet budget ${this.runId} --${option} N`;
    if (tokens !== undefined && withRunning(spentTokens) > tokens)
      return sentence(`${spentTokens} of ${tokens} tokens`, 'tokens');
    const dollars = this.prices === null ? 0 : dollarsForUse(use, this.prices);
    if (usd !== undefined && withRunning(dollars) > usd) return sentence(`$${dollars.toFixed(4)} of $${usd}`, 'usd');
    return null;
  }

  /** Adds the counts of this worker to the run's document. */
  private write(): Promise<void> {
    this.lastWrite = Date.now();
    this.writing = this.writing.catch(() => undefined).then(() => this.writeNow());
    return this.writing;
  }

  private async writeNow(): Promise<void> {
    const key = layout.analystUse(this.runId);
    const adding = [...this.pending];
    if (adding.length === 0) return;
    const { uses, counted } = await changeDocument(this.store, key, (before) => {
      const sum = this.sumWith(parseAnalystUse(before), adding);
      return { value: sum, result: sum };
    });
    this.shared = uses;
    this.pending = this.pending.slice(adding.length);
    this.pendingUse = this.pending.reduce<AnalystUse>((total, { use }) => addAll(total, use), {});
    for (const { segment } of adding) if (segment !== null) this.counted.set(segment, counted[segment] ?? 0);
    // A lowered budget takes effect here. A raised budget takes effect when the old one is spent.
    this.budget = await readBudget(this.store, this.runId, this.spec.budget);
  }

  /**
   * The document with the added counts. Another worker may have taken this one for dead and opened its segment. The
   * lines that the other worker has counted since then are left out.
   */
  private sumWith({ uses, counted }: AnalystUseDocument, adding: readonly PendingUse[]): AnalystUseDocument {
    const after = { ...counted };
    const countedByOthers = new Map<string, number>();
    let sum = uses;
    for (const { segment, use } of adding) {
      if (segment !== null) {
        const others = countedByOthers.get(segment) ?? (counted[segment] ?? 0) - (this.counted.get(segment) ?? 0);
        countedByOthers.set(segment, others - 1);
        if (others > 0) continue;
        after[segment] = (after[segment] ?? 0) + 1;
      }
      sum = addAll(sum, use);
    }
    return { uses: sum, counted: after };
  }
}
