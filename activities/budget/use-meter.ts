import type { BudgetSpec } from '../../contracts/config/analyst-spec';
import { failure } from '../../contracts/typed-failure';
import { contentKey } from '../../llm';
import { changeDocument, type ArtifactStore } from '../../store';
import { readBudget } from './read-budget';

/** Milliseconds between two writes of the counts. */
const WRITE_MS = 1_000;

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

/** The document in which all workers of a run add up a use. */
interface UseDocument<Use> {
  uses: Use;
  /** For each segment with recorded lines: how many of them are in `uses`. */
  counted: Record<string, number>;
}

/** What a meter counts, and where. `Use`: an object of counts, at every level. */
interface MeterOptions<Use> {
  /** Name of the document. */
  key: string;
  /** Reads the stored document; null and undefined mean that there is none. */
  parse: (stored: unknown) => UseDocument<Use>;
  /**
   * Why so many more calls would pass the budget, as a sentence; null if they fit.
   * @param running number of the calls that are neither in `use` nor over, with the ones that are to begin.
   */
  excess: (budget: BudgetSpec, use: Use, running: number) => string | null;
  /** The budget of agent.yaml. */
  budget: BudgetSpec;
}

/** A count that the document does not have yet. */
interface PendingUse<Use> {
  /** Segment with the line; null for a use without a record. */
  segment: string | null;
  use: Use;
}

/** Short name of a segment in the document. */
const nameOf = (segment: string): string => contentKey(segment).slice(0, 16);

/**
 * Counts a use of one run in a document that all workers add to. Refuses what would exceed the budget. A worker sees
 * other workers' spending about a second late.
 *
 * The document says how many lines of each segment it has counted. So if a killed worker did not write its counts, they
 * are added when the segment is opened again, and no line counts twice.
 */
export class UseMeter<Use extends object> {
  private shared = {} as Use;
  private pending: PendingUse<Use>[] = [];
  /** Sum of `pending`. */
  private pendingUse = {} as Use;
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

  constructor(
    private readonly store: ArtifactStore,
    private readonly runId: string,
    private readonly options: MeterOptions<Use>,
  ) {}

  /**
   * Reports the content of a segment before its writer continues. Lines that were not counted yet are counted now.
   * @param uses of the readable lines, in their order.
   * @param lines number of all lines, with those that cannot be read.
   */
  async opened(segment: string, uses: readonly Use[], lines: number): Promise<void> {
    if (lines === 0) return;
    await this.writing.catch(() => undefined);
    const name = nameOf(segment);
    const counted = (await this.readDocument()).counted[name] ?? 0;
    const pending = this.pending.filter((other) => other.segment === name).length;
    this.counted.set(name, counted);
    const uncounted = Math.min(lines - counted - pending, uses.length);
    if (uncounted > 0) for (const use of uses.slice(-uncounted)) this.add(segment, use);
  }

  /** Counts a use. @param segment to which its line was appended; null: there is no line. */
  add(segment: string | null, use: Use): void {
    this.pending.push({ segment: segment === null ? null : nameOf(segment), use });
    this.pendingUse = sum(this.pendingUse, use);
    if (Date.now() - this.lastWrite > WRITE_MS) void this.write().catch(() => undefined);
  }

  /**
   * Counts calls as running. Throws Budget.Spent when all running calls together would probably exceed the budget. The
   * check and the count must not be separated by an await. Otherwise calls that start together would not see each
   * other.
   */
  async admit(calls = 1): Promise<void> {
    if (this.budget === null) await this.lookFirst();
    if (this.excess(calls) !== null) {
      // Since the last read, others may have spent more, or a person may have raised the budget.
      await this.write();
      await this.refresh();
      const excess = this.excess(calls);
      if (excess !== null) throw failure('Budget.Spent', excess);
    }
    this.running += calls;
  }

  /** Calls that were admitted are over. */
  ended(calls = 1): void {
    this.running -= calls;
  }

  /** Adds the counts of this worker to the run's document. */
  write(): Promise<void> {
    this.lastWrite = Date.now();
    this.writing = this.writing.catch(() => undefined).then(() => this.writeNow());
    return this.writing;
  }

  private lookFirst(): Promise<void> {
    this.firstLook ??= this.refresh().finally(() => {
      this.firstLook = null;
    });
    return this.firstLook;
  }

  private async readDocument(): Promise<UseDocument<Use>> {
    return this.options.parse((await this.store.readDocument(this.options.key))?.value);
  }

  private async refresh(): Promise<void> {
    this.shared = (await this.readDocument()).uses;
    this.budget = await readBudget(this.store, this.runId, this.options.budget);
  }

  private excess(more: number): string | null {
    return this.options.excess(this.budget ?? {}, sum(this.shared, this.pendingUse), this.running + more);
  }

  private async writeNow(): Promise<void> {
    const { key, parse } = this.options;
    const adding = [...this.pending];
    if (adding.length === 0) return;
    const { uses, counted } = await changeDocument(this.store, key, (before) => {
      const after = this.sumWith(parse(before), adding);
      return { value: after, result: after };
    });
    this.shared = uses;
    this.pending = this.pending.slice(adding.length);
    this.pendingUse = this.pending.reduce((total, { use }) => sum(total, use), {} as Use);
    for (const { segment } of adding) if (segment !== null) this.counted.set(segment, counted[segment] ?? 0);
    // A lowered budget takes effect here. A raised budget takes effect when the old one is spent.
    this.budget = await readBudget(this.store, this.runId, this.options.budget);
  }

  /**
   * The document with the added counts. Another worker may have taken this one for dead and opened its segment. The
   * lines that the other worker has counted since then are left out.
   */
  private sumWith({ uses, counted }: UseDocument<Use>, adding: readonly PendingUse<Use>[]): UseDocument<Use> {
    const after = { ...counted };
    const countedByOthers = new Map<string, number>();
    let total = uses;
    for (const { segment, use } of adding) {
      if (segment !== null) {
        const others = countedByOthers.get(segment) ?? (counted[segment] ?? 0) - (this.counted.get(segment) ?? 0);
        countedByOthers.set(segment, others - 1);
        if (others > 0) continue;
        after[segment] = (after[segment] ?? 0) + 1;
      }
      total = sum(total, use);
    }
    return { uses: total, counted: after };
  }
}

const sum = <Use extends object>(a: Use, b: Use): Use => addCounts(a as Counts, b as Counts) as Use;
