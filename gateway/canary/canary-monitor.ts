import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Registry } from '../../contracts/artifacts/registry';
import { type ArtifactStore, changeRegistry, endCanary } from '../../store';
import type { RoutingDecision } from '../conversations';
import type { Log } from '../log';
import type { Metrics } from '../metrics';
import { CanaryOutcomes } from './canary-outcomes';

/** Between looks at what other gateways have counted. */
const READ_EVERY_MS = 2_000;

/** What became of a posted outcome. */
export interface OutcomeReceipt {
  counted: boolean;
  /** Why not. */
  reason: string | null;
}

/** Compares each agent's canary with its control and takes it back when it is worse. */
export class CanaryMonitor {
  private readonly books = new Map<string, CanaryOutcomes>();
  private readonly instance = `${hostname().replace(/[^A-Za-z0-9-]/g, '-')}-${process.pid}-${randomBytes(4).toString('hex')}`;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly store: ArtifactStore,
    private readonly metrics: Metrics,
    private readonly log: Log,
    readEveryMs: number = READ_EVERY_MS,
  ) {
    this.timer = setInterval(() => void this.readOthers(), readEveryMs);
    this.timer.unref();
  }

  /** Opens or closes an agent's book as its registry says. */
  registryChanged(agent: string, { canary }: Registry): void {
    const book = this.books.get(agent);
    if (book?.canary.id === canary?.id) return;
    this.books.delete(agent);
    void book?.close();
    if (canary === undefined) return;
    this.books.set(agent, new CanaryOutcomes(this.store, agent, canary, this.instance));
    void this.readOthers();
  }

  /**
   * Counts an outcome, once for each conversation, and rolls the canary back when that makes it significantly worse.
   */
  async add(agent: string, key: string, decision: RoutingDecision, reward: number): Promise<OutcomeReceipt> {
    this.metrics.outcomes.inc({ agent, arm: decision.arm });
    const book = this.books.get(agent);
    if (book === undefined) return { counted: false, reason: 'there is no canary to compare' };
    if (decision.canaryId !== book.canary.id)
      return { counted: false, reason: 'the conversation began before the canary' };
    if (!(await book.add(key, decision.arm, reward)))
      return { counted: false, reason: 'the conversation was counted before' };
    await this.judge(agent, book);
    return { counted: true, reason: null };
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([...this.books.values()].map((book) => book.close()));
  }

  private async readOthers(): Promise<void> {
    for (const [agent, book] of this.books) {
      try {
        await book.readOthers();
        await this.judge(agent, book);
      } catch (error) {
        this.log.error({ agent, error: (error as Error).message }, "other gateways' outcomes cannot be read");
      }
    }
  }

  private async judge(agent: string, { test, canary }: CanaryOutcomes): Promise<void> {
    this.metrics.evidence.set({ agent }, test.evidence);
    if (!test.isWorse) return;
    const reason = `Version ${canary.version} is worse: ${test.describe()}.`;
    const { changed } = await changeRegistry(this.store, agent, (registry) =>
      endCanary(registry, 'rolled-back', reason, new Date(), canary.id),
    );
    if (!changed) return;
    this.metrics.rollbacks.inc({ agent });
    this.log.warn({ agent, version: canary.version }, reason);
  }
}
