import type { Registry, RegistryVersion } from '../../contracts/artifacts/registry';
import type { GatewayAgent } from '../../contracts/config/gateway-config';
import { NONE_LABEL } from '../../contracts/names';
import { emptyRegistry } from '../../store';
import { isInCanary } from '../canary/is-in-canary';
import type { ConversationKey, DecisionCache, RoutingDecision } from '../conversations';
import type { Metrics } from '../metrics';
import { MergedAdapters } from './merged-adapters';
import type { Router, RoutingAnswer } from '../routing/router';
import type { ReplicaSet } from '../upstream/replica-set';

/** Most merged adapters of one agent that the model servers hold. */
const MOST_MERGED_ADAPTERS = 16;

/** One agent as it is served now: its registry, its router, its model servers, and where its conversations go. */
export class ServedAgent {
  registry: Registry;
  /** Whether the registry has been read at least once. */
  known = false;
  readonly mergedAdapters: MergedAdapters;
  private readonly deciding = new Map<string, Promise<RoutingDecision>>();

  constructor(
    readonly settings: GatewayAgent,
    readonly replicas: ReplicaSet,
    private readonly router: Router,
    private readonly conversations: DecisionCache,
    private readonly metrics: Metrics,
    /** Called when the model servers need an adapter that they did not need before. */
    onWanted: () => void,
  ) {
    this.mergedAdapters = new MergedAdapters(MOST_MERGED_ADAPTERS, onWanted);
    this.registry = emptyRegistry(settings.name);
  }

  /** Follows a new registry, and has the router prepare for its versions. Does not wait for that. */
  update(registry: Registry): void {
    this.registry = registry;
    this.known = true;
    // A router that could not prepare tries again at each conversation, so the failure is ignored here.
    for (const version of this.wantedVersions()) this.router.prepare?.(version).catch(() => undefined);
  }

  /** The version with this number; null when there is none, and for null, which means the base model. */
  version(number: number | null): RegistryVersion | null {
    return this.registry.versions.find(({ version }) => version === number) ?? null;
  }

  /**
   * Versions whose adapters the model servers must have: the active one, the canary, and the one before the active one,
   * so that a rollback has nothing to load.
   */
  wantedVersions(): RegistryVersion[] {
    const { active, canary, versions } = this.registry;
    const before = versions.filter(({ version }) => active !== null && version < active).at(-1)?.version;
    const numbers = new Set([active, canary?.version ?? null, before ?? null]);
    return versions.filter(({ version }) => numbers.has(version));
  }

  /** The latest version that has the adapter; null when none has. */
  adapterVersion(name: string): RegistryVersion | null {
    return this.registry.versions.findLast(({ adapters }) => adapters.some((adapter) => adapter.name === name)) ?? null;
  }

  /**
   * Where a conversation goes. An earlier decision holds (`sticky`) while its version is served. Otherwise the router
   * decides now, by the text that `task` returns. Never rejects because of the router: without its answer the base
   * model gets the conversation.
   */
  async decide({ key }: ConversationKey, task: () => string): Promise<{ decision: RoutingDecision; sticky: boolean }> {
    const former = this.conversations.get(key);
    if (former !== undefined && this.serves(former)) return { decision: former, sticky: true };
    // Simultaneous requests of one conversation share one decision.
    const running = this.deciding.get(key);
    if (running !== undefined) return { decision: await running, sticky: true };
    const decided = this.decideAnew(key, task()).finally(() => this.deciding.delete(key));
    this.deciding.set(key, decided);
    const decision = await decided;
    this.conversations.set(key, decision);
    return { decision, sticky: false };
  }

  private serves({ version, arm }: RoutingDecision): boolean {
    const { active, canary } = this.registry;
    return arm === 'canary' && canary !== undefined ? version === canary.version : version === active;
  }

  private async decideAnew(key: string, task: string): Promise<RoutingDecision> {
    const { active, canary } = this.registry;
    const arm = canary !== undefined && isInCanary(canary, key) ? 'canary' : 'active';
    const version = this.version(arm === 'canary' ? (canary?.version ?? null) : active);
    const agent = this.settings.name;
    const base = {
      agent,
      version: version?.version ?? null,
      arm,
      canaryId: canary?.id ?? null,
      adapter: null,
      capabilityId: NONE_LABEL,
      probability: null,
    } as const;
    if (version === null) return { ...base, reason: 'no-version' };
    if (version.adapters.length === 0) return { ...base, reason: 'no-adapters' };
    const answer = await this.askRouter(version, key, task);
    if (typeof answer === 'string') return { ...base, reason: answer };
    const { capabilityId, reason, probability, merge } = answer;
    const single = version.adapters.find((adapter) => adapter.capabilityId === capabilityId)?.name ?? null;
    if (merge === undefined) return { ...base, adapter: single, capabilityId, reason, probability };
    const merged = this.mergedAdapters.want(merge);
    // The first conversation that needs a merged adapter does not wait for it, but gets the likeliest adapter alone.
    const isLoaded = this.replicas.all.some((replica) => replica.ready && replica.routable.has(merged));
    return {
      ...base,
      adapter: isLoaded ? merged : single,
      capabilityId,
      reason: isLoaded ? reason : 'mixture-pending',
      probability,
    };
  }

  /** The router's answer; or why there is none, as a word for the header x-whet-route. */
  private async askRouter(version: RegistryVersion, prefix: string, task: string): Promise<RoutingAnswer | string> {
    const { router } = this.settings;
    // A router that asks a server has the setting `timeoutMs`; one without it answers at once.
    const signal = 'timeoutMs' in router ? AbortSignal.timeout(router.timeoutMs) : new AbortController().signal;
    const began = performance.now();
    let outcome: string;
    try {
      const answer = await orAborted(this.router.route({ version, task, prefix }, signal), signal);
      this.metrics.routed(this.settings.name, answer.reason, (performance.now() - began) / 1000, answer);
      return answer;
    } catch {
      outcome = signal.aborted ? 'router-timeout' : 'router-failed';
    }
    this.metrics.routed(this.settings.name, outcome, (performance.now() - began) / 1000, null);
    return outcome;
  }
}

/** The result, unless the time is over before: also for work that does not listen to the signal, such as a reading. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    const release = () => signal.removeEventListener('abort', abort);
    work.then(resolve, reject).then(release, release);
  });
}
