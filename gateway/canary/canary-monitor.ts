import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Registry } from '../../contracts/artifacts/registry';
import { type ArtifactStore, changeRegistry, endCanary } from '../../store';
import type { RoutingDecision } from '../conversations';
import type { Log } from '../log';
import type { Metrics } from '../metrics';
import { CanaryOutcomes } from './canary-outcomes';

/** Time between two readings of the other gateways' counts. */
const READ_EVERY_MS = 2_000;

/** Whether a posted outcome was counted. */
export interface OutcomeReceipt {
  counted: boolean;
  /** Why it was not counted; null if it was counted. */
  reason: string | null;
}

/** Compares each agent's canary with the active version, and rolls it back if it is worse. */
export class CanaryMonitor {
  private readonly outcomes = new Map<string, CanaryOutcomes>();
  private readonly instance = [
    hostname().replace(/[^A-Za-z0-9-]/g, '-'),
    process.pid,
    randomBytes(4).toString('hex'),
  ].join('-');
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly store: ArtifactStore,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {
    this.timer = setInterval(() => void this.readOthers(), READ_EVERY_MS);
    this.timer.unref();
  }

  /** Starts the comparison for the registry's canary, or stops it if there is none. */
  registryChanged(agent: string, { canary }: Registry): void {
    const outcomes = this.outcomes.get(agent);
    if (outcomes?.canary.id === canary?.id) return;
    this.outcomes.delete(agent);
    void outcomes?.close();
    if (canary === undefined) return;
    this.outcomes.set(agent, new CanaryOutcomes(this.store, agent, canary, this.instance));
    void this.readOthers();
  }

  /**
   * Counts an outcome, once for each conversation, and rolls the canary back if it is now significantly worse. `reward`
   * is in [0, 1]. Rejects if the store cannot be written.
   */
  async add(agent: string, key: string, decision: RoutingDecision, reward: number): Promise<OutcomeReceipt> {
    this.metrics.outcomes.inc({ agent, arm: decision.arm });
    const outcomes = this.outcomes.get(agent);
    if (outcomes === undefined) return { counted: false, reason: 'there is no canary to compare' };
    if (decision.canaryId !== outcomes.canary.id)
      return { counted: false, reason: 'the conversation began before the canary' };
    if (!(await outcomes.add(key, decision.arm, reward)))
      return { counted: false, reason: 'the conversation was counted before' };
    await this.judge(agent, outcomes);
    return { counted: true, reason: null };
  }

  /** Stops the timer and closes all files. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([...this.outcomes.values()].map((outcomes) => outcomes.close()));
  }

  private async readOthers(): Promise<void> {
    for (const [agent, outcomes] of this.outcomes) {
      try {
        for (const leftOut of await outcomes.readOthers()) this.log.warn({ agent }, leftOut);
        await this.judge(agent, outcomes);
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
      endCanary(registry, 'rolled-back', reason, canary.id),
    );
    if (!changed) return;
    this.metrics.rollbacks.inc({ agent });
    this.log.warn({ agent, version: canary.version }, reason);
  }
}
