import { EventEmitter } from 'node:events';
import type { Registry } from '../contracts/artifacts/registry';
import type { GatewayAgent, GatewayConfig } from '../contracts/config/gateway-config';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import { startOf } from '../contracts/clean-text';
import { type ArtifactStore, getJson } from '../store';
import { ServedAgent } from './agents/served-agent';
import { TimeOver, withinTime } from './agents/within-time';
import { CanaryMonitor } from './canary/canary-monitor';
import { ClientShares } from './client-shares';
import type { RoutingDecision } from './conversations';
import { Drops } from './drops';
import { MemoryBudget } from './http/memory-budget';
import { Clients } from './clients';
import type { Log } from './log';
import { Metrics } from './metrics';
import { RegistryPoller } from './registry-poller';
import { ConversationRouter } from './routing/conversation-router';
import type { Tracing } from './opentelemetry';
import { TraceSampler } from './traces/sampler';
import { TraceWriter } from './traces/writer';
import { AdapterCheck } from './upstream/adapter-check';
import { AdapterReconciler } from './upstream/adapter-reconciler';
import { Replica } from './upstream/replica';
import { ReplicaSet } from './upstream/replica-set';
import { type Router, routerSchema } from '../routing/kinds';

/** How long the store is waited for at the end. */
const STORE_MS = 5_000;

/** The outside dependencies of a gateway. */
export interface GatewayDeps {
  store: ArtifactStore;
  log: Log;
  /** API key for the model servers; null: none. */
  modelApiKey: string | null;
  /** Null: requests are not traced. */
  tracing: Tracing | null;
}

/** All parts of a gateway except its HTTP server, connected with each other. */
export class Gateway {
  readonly agents = new Map<string, ServedAgent>();
  readonly clients: Clients;
  /** By conversation. A conversation whose decision was dropped is routed again at its next turn. */
  readonly decisions: ClientShares<RoutingDecision>;
  readonly metrics = new Metrics();
  readonly memory: MemoryBudget;
  readonly traces: TraceSampler;
  readonly traceWriter: TraceWriter;
  readonly canaries: CanaryMonitor;
  /** Ids of the requests under way, as clients gave them. */
  readonly requestIds = new Set<string>();
  /** Set on SIGTERM. The gateway is no longer ready, and closes each connection after its answer. */
  draining = false;
  private readonly replicas = new Map<string, Replica>();
  private readonly reconcilers = new Map<string, AdapterReconciler>();
  private readonly registryPoller: RegistryPoller;
  private readonly adapterCheck: AdapterCheck;
  /** Emits `ready`. Every request that waits for a server listens, so it does not warn about many listeners. */
  private readonly events = new EventEmitter().setMaxListeners(0);
  /** Keys of unreadable routers that are already in the log. */
  private readonly unreadableRouters = new Set<string>();

  constructor(
    readonly config: GatewayConfig,
    readonly deps: GatewayDeps,
  ) {
    this.clients = new Clients(config.keys);
    const drops = new Drops(this.metrics, deps.log);
    this.decisions = new ClientShares(config.limits.conversations, (client) => drops.note('decision', client));
    this.memory = new MemoryBudget(config.limits.openBytes);
    this.traceWriter = new TraceWriter(deps.store, this.metrics, drops, deps.log);
    this.traces = new TraceSampler(this.traceWriter, this.metrics, drops);
    this.adapterCheck = new AdapterCheck(deps.log);
    this.canaries = new CanaryMonitor(deps.store, this.metrics, deps.log);
    for (const settings of config.agents) this.agents.set(settings.name, this.servedAgent(settings));
    this.registryPoller = new RegistryPoller({
      store: deps.store,
      agents: [...this.agents.keys()],
      everyMs: config.registryPollMs,
      onChange: (agent, registry) => this.registryChanged(agent, registry),
      log: deps.log,
    });
    this.registerGauges();
  }

  /** Reads the registries and starts to reconcile the model servers. Does not wait until they are ready. */
  async start(): Promise<void> {
    await this.registryPoller.start();
    for (const reconciler of this.reconcilers.values()) reconciler.start();
  }

  /** Stops all timers and loops, writes the waiting traces, and closes the connections to model servers. */
  async stop(): Promise<void> {
    await Promise.all([
      this.stopReading(),
      this.traceWriter.stop(),
      ...[...this.reconcilers.values()].map((reconciler) => reconciler.stop()),
    ]);
    await Promise.all([...this.replicas.values()].map((replica) => replica.close()));
    await this.deps.tracing?.stop();
  }

  /** A store on a network mount may hang without an error, so this waits only some seconds. */
  private async stopReading(): Promise<void> {
    await withinTime(STORE_MS, () => Promise.all([this.registryPoller.stop(), this.canaries.stop()])).catch(
      (error: unknown) => {
        if (!(error instanceof TimeOver)) throw error;
      },
    );
  }

  /** One sentence for each missing thing. Empty if every agent can be served. */
  unready(): string[] {
    if (this.draining) return ['The gateway is shutting down.'];
    return [...this.agents.values()].flatMap(({ settings: { name }, known, replicas }) => [
      ...(known ? [] : [`The registry of ${name} could not be read.`]),
      ...(replicas.anyReady() ? [] : [`No model server of ${name} is ready.`]),
    ]);
  }

  /** Reads a version's router. While that fails, base gets the version's conversations, and the log says so once. */
  private async readJudgedRouter(agent: string, artifact: ArtifactRef): Promise<Router> {
    const { store, log } = this.deps;
    try {
      const router = await getJson(store, artifact, routerSchema);
      this.unreadableRouters.delete(artifact.key);
      return router;
    } catch (error) {
      if (!this.unreadableRouters.has(artifact.key))
        log.error(
          { agent, key: artifact.key, error: startOf((error as Error).message, 500) },
          'the router of a version cannot be read; the base model gets its conversations',
        );
      this.unreadableRouters.add(artifact.key);
      throw error;
    }
  }

  private servedAgent(settings: GatewayAgent): ServedAgent {
    const replicas = new ReplicaSet(
      settings.replicas.map((url) => this.replica(url, settings.adminPort)),
      this.events,
    );
    return new ServedAgent(
      settings,
      replicas,
      new ConversationRouter({
        replicas,
        baseModel: settings.baseModel,
        readJudgedRouter: (artifact) => this.readJudgedRouter(settings.name, artifact),
      }),
      this.decisions,
      this.metrics,
    );
  }

  /** The model server at an address; agents with the same address share it. */
  private replica(url: string, adminPort?: number): Replica {
    const address = url.replace(/\/$/, '');
    const existing = this.replicas.get(address);
    if (existing !== undefined) return existing;
    const { timeouts, reconcile } = this.config;
    const replica = new Replica(
      address,
      this.deps.modelApiKey,
      timeouts,
      adminPort,
      () => this.reconcilers.get(address)?.kick(),
      async () => this.reconcilers.get(address)?.verify(),
    );
    this.replicas.set(address, replica);
    const users = () => [...this.agents.values()].filter(({ replicas }) => replicas.all.includes(replica));
    this.reconcilers.set(
      address,
      new AdapterReconciler({
        replica,
        settings: reconcile,
        baseModels: () => users().map(({ settings }) => settings.baseModel),
        wanted: () =>
          users()
            .flatMap((agent) => agent.wantedVersions())
            .flatMap(({ adapters }) => adapters)
            .map(({ name, key, sha256 }) => ({ name, path: this.deps.store.localPath(key), sha256 })),
        adapterCheck: this.adapterCheck,
        known: () =>
          new Set(
            users()
              .flatMap(({ registry }) => registry.versions)
              .flatMap(({ adapters }) => adapters)
              .map(({ name }) => name),
          ),
        onReady: () => this.events.emit('ready'),
        log: this.deps.log,
      }),
    );
    return replica;
  }

  private registryChanged(name: string, registry: Registry): void {
    const agent = this.agents.get(name);
    if (agent === undefined) return;
    agent.update(registry);
    this.canaries.registryChanged(name, registry);
    this.kick(agent.replicas);
  }

  /** Reconciles an agent's model servers now instead of at the next interval. */
  private kick(replicas: ReplicaSet): void {
    for (const { url } of replicas.all) this.reconcilers.get(url)?.kick();
  }

  private registerGauges(): void {
    const { metrics, replicas, agents } = this;
    const ofReplicas = (name: string, help: string, value: (replica: Replica) => number) =>
      metrics.gaugeOnScrape(name, help, ['replica'], (set) => {
        for (const replica of replicas.values()) set({ replica: replica.url }, value(replica));
      });
    ofReplicas('whet_gateway_replica_ready', 'Whether a model server takes traffic.', ({ ready }) => Number(ready));
    ofReplicas(
      'whet_gateway_replica_adapters',
      'Adapters that a model server takes traffic for.',
      ({ routable }) => routable.size,
    );
    ofReplicas('whet_gateway_replica_in_flight', 'Requests in flight at a model server.', ({ inFlight }) => inFlight);
    metrics.gaugeOnScrape(
      'whet_gateway_active_version',
      'Active version of the registry; 0 is the base model.',
      ['agent'],
      (set) => {
        for (const [agent, { registry }] of agents) set({ agent }, registry.active ?? 0);
      },
    );
    metrics.gaugeOnScrape('whet_gateway_conversations', 'Conversations remembered.', [], (set) =>
      set({}, this.decisions.count),
    );
  }
}
