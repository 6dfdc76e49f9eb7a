import type { Registry, RegistryVersion } from '../../contracts/artifacts/registry';
import type { GatewayAgent } from '../../contracts/config/gateway-config';
import { NONE_LABEL } from '../../contracts/names';
import type { LaterTurnsReader } from '../../routing/later-turns';
import { emptyRegistry } from '../../store';
import { isInCanary } from '../canary/sequential-test';
import type { ClientShares } from '../client-shares';
import type { ConversationKey, NoChoice, RoutingDecision } from '../conversations';
import type { Opening } from '../http/inference-request';
import type { Metrics } from '../metrics';
import type { ConversationRouter, RoutingAnswer } from '../routing/conversation-router';
import type { ReplicaSet } from '../upstream/replica-set';
import { TimeOver, withinTime } from './within-time';

/** The target of a conversation, and whether it was decided at an earlier turn. */
interface MadeDecision {
  decision: RoutingDecision;
  sticky: boolean;
}

/**
 * The current state of one agent: its registry, its router, its model servers, and the targets of its conversations.
 */
export class ServedAgent {
  registry: Registry;
  /** Whether the registry has been read at least once. */
  known = false;
  /**
   * The reader of later messages for a version's conversations; null if they keep their adapter. A version never
   * changes, so the reader is cached.
   */
  private readonly turnReaders = new WeakMap<RegistryVersion, LaterTurnsReader | null>();
  private readonly deciding = new Map<string, Promise<RoutingDecision>>();

  constructor(
    readonly settings: GatewayAgent,
    readonly replicas: ReplicaSet,
    private readonly router: ConversationRouter,
    private readonly conversations: ClientShares<RoutingDecision>,
    private readonly metrics: Metrics,
  ) {
    this.registry = emptyRegistry(settings.name);
  }

  /** Applies a new registry, and starts to open the routers of its versions in advance. It does not wait for them. */
  update(registry: Registry): void {
    this.registry = registry;
    this.known = true;
    // The failure is ignored here, because each conversation tries again to open such a router.
    for (const version of this.wantedVersions()) this.router.open(version).catch(() => undefined);
  }

  /** The version with this number. Null if there is none, and for null, which means the base model. */
  version(number: number | null): RegistryVersion | null {
    return this.registry.versions.find(({ version }) => version === number) ?? null;
  }

  /**
   * Versions whose adapters the model servers must have: the active version, the canary, and the previous version, so
   * that a rollback has nothing to load.
   */
  wantedVersions(): RegistryVersion[] {
    const { active, canary, versions } = this.registry;
    const before = versions.filter(({ version }) => active !== null && version < active).at(-1)?.version;
    const numbers = new Set([active, canary?.version ?? null, before ?? null]);
    return versions.filter(({ version }) => numbers.has(version));
  }

  /** The latest version with this adapter; null if there is none. */
  adapterVersion(name: string): RegistryVersion | null {
    return this.registry.versions.findLast(({ adapters }) => adapters.some((adapter) => adapter.name === name)) ?? null;
  }

  /**
   * The target of a conversation. An earlier decision stays valid (`sticky`) while its version is served. Otherwise the
   * router decides now, by the text of the first user turn. If the version says so, a later message changes the
   * adapter. It never rejects because of the router: without the router's answer, the base model gets the conversation.
   */
  async decide(conversation: ConversationKey, opening: Opening): Promise<MadeDecision> {
    const { decision, sticky } = await this.decideByOpening(conversation, opening.task);
    const version = this.version(decision.version);
    if (version === null || this.turnReaders.get(version) === null) return { decision, sticky };
    const switched = await this.switched(decision, version, opening.messages).catch(() => null);
    return switched === null ? { decision, sticky } : { decision: switched, sticky: false };
  }

  /** The decision after later messages; null if they change nothing. */
  private async switched(
    decision: RoutingDecision,
    version: RegistryVersion,
    messages: Opening['messages'],
  ): Promise<RoutingDecision | null> {
    let reader = this.turnReaders.get(version);
    if (reader === undefined) {
      reader = (await withinTime(this.settings.router.timeoutMs, () => this.router.open(version))).laterTurns;
      this.turnReaders.set(version, reader);
    }
    const choice = reader?.(messages(), decision.capabilityId);
    if (!choice || choice.capabilityId === decision.capabilityId) return null;
    const { capabilityId, probability, reason } = choice;
    const adapter = version.adapters.find((served) => served.capabilityId === capabilityId)?.name ?? null;
    return { ...decision, adapter, capabilityId, probability, reason };
  }

  private async decideByOpening({ key }: ConversationKey, task: string): Promise<MadeDecision> {
    const former = this.conversations.get(key);
    if (former !== undefined && this.serves(former)) return { decision: former, sticky: true };
    // Simultaneous requests of one conversation share one decision.
    const running = this.deciding.get(key);
    if (running !== undefined) return { decision: await running, sticky: true };
    const decided = this.decideNow(key, task).finally(() => this.deciding.delete(key));
    this.deciding.set(key, decided);
    const decision = await decided;
    this.conversations.set(key, decision);
    return { decision, sticky: false };
  }

  private serves({ version, arm }: RoutingDecision): boolean {
    const { active, canary } = this.registry;
    return arm === 'canary' && canary !== undefined ? version === canary.version : version === active;
  }

  private async decideNow(key: string, task: string): Promise<RoutingDecision> {
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
    const { capabilityId, reason, probability } = answer;
    const adapter = version.adapters.find((served) => served.capabilityId === capabilityId)?.name ?? null;
    return { ...base, adapter, capabilityId, reason, probability };
  }

  /** The router's answer; or the reason why there is none, as a word for the header x-whet-route. */
  private async askRouter(version: RegistryVersion, prefix: string, task: string): Promise<RoutingAnswer | NoChoice> {
    const began = performance.now();
    let outcome: NoChoice;
    try {
      const answer = await withinTime(this.settings.router.timeoutMs, (signal) =>
        this.router.route({ version, task, prefix }, signal),
      );
      this.metrics.routed(this.settings.name, answer.reason, (performance.now() - began) / 1000, answer);
      return answer;
    } catch (error) {
      outcome = error instanceof TimeOver ? 'router-timeout' : 'router-failed';
    }
    this.metrics.routed(this.settings.name, outcome, (performance.now() - began) / 1000, null);
    return outcome;
  }
}
