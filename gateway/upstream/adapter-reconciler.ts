import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayConfig } from '../../contracts/config/gateway-config';
import type { Log } from '../log';
import type { AdapterCheck, WantedAdapter } from './adapter-check';
import { ReplicaAdmin } from './replica-admin';
import type { Replica } from './replica';

/** What a reconciler needs. */
export interface AdapterReconcilerOptions {
  replica: Replica;
  settings: GatewayConfig['reconcile'];
  /** Base models that the server must serve. */
  baseModels: () => readonly string[];
  /** Adapters that it should serve now. */
  wanted: () => readonly WantedAdapter[];
  /** Which of them are what they were when they were promoted. */
  adapterCheck: AdapterCheck;
  /** Names of all adapters in the registries, wanted or not. Others belong to somebody else and are left alone. */
  known: () => ReadonlySet<string>;
  /** Called when the server has become ready, and when a ready server can take traffic for a further adapter. */
  onReady: () => void;
  log: Log;
}

const LONGEST_BACKOFF_MS = 30_000;
/** Time to the next check where a server does not answer, or where that check was asked for during one. */
const SOON_MS = 250;

/**
 * Makes one model server serve the adapters that the registries want. Each check asks the server for its loaded
 * adapters, because a restarted server has lost them. An adapter is first loaded, then probed with one token, and only
 * then used. An unwanted adapter gets no further requests. Once its requests in flight have ended, it is unloaded.
 */
export class AdapterReconciler {
  private readonly server: ReplicaAdmin;
  private readonly stopping = new AbortController();
  private readonly unwantedSince = new Map<string, number>();
  private readonly failed = new Map<string, { until: number; waitMs: number }>();
  private wake: (() => void) | null = null;
  /** Whether a check was asked for since the last one began. */
  private isKicked = false;
  private verifying: Promise<void> | null = null;
  private loop: Promise<void> | null = null;

  constructor(private readonly options: AdapterReconcilerOptions) {
    this.server = new ReplicaAdmin(options.replica);
  }

  /** Begins to check the server at an interval. */
  start(): void {
    this.loop = this.run();
  }

  /** Stops. Resolves when the current check has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake?.();
    await this.loop;
  }

  /**
   * Checks now instead of at the next interval, because a connection broke or a registry changed. During a check, the
   * next one follows soon: the one under way may not know of it. Not at once, because a check may break connections.
   */
  kick(): void {
    this.isKicked = true;
    this.wake?.();
  }

  /**
   * Asks the server now whether it still serves everything that it should, and marks it unready if not. Simultaneous
   * calls share one question. Never rejects.
   */
  verify(): Promise<void> {
    this.verifying ??= this.askAgain().finally(() => (this.verifying = null));
    return this.verifying;
  }

  private async askAgain(): Promise<void> {
    const { replica, log } = this.options;
    const { epoch } = replica;
    const lost = await this.lost()
      .catch(() => this.lost())
      .catch((error: unknown) => [(error as Error).message]);
    if (lost.length === 0 || replica.epoch !== epoch || !replica.ready) return;
    log.warn({ replica: replica.url, lost }, 'model server is not ready');
    replica.markUnready();
  }

  /** Models that get traffic, or should get it, but that the server does not serve. */
  private async lost(): Promise<string[]> {
    const served = new Set(await this.server.models());
    const wanted = new Set(this.options.wanted().map(({ name }) => name));
    const routed = [...this.options.replica.routable].filter((name) => wanted.has(name));
    return [...this.options.baseModels(), ...routed].filter((name) => !served.has(name));
  }

  private async run(): Promise<void> {
    const { replica, settings, log } = this.options;
    while (!this.stopping.signal.aborted) {
      this.isKicked = false;
      try {
        await this.check();
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        if (replica.ready) {
          log.warn({ replica: replica.url, error: (error as Error).message }, 'model server is not ready');
          replica.markUnready();
        }
      }
      const isSettled = replica.ready && !this.isKicked;
      const pause = sleep(isSettled ? settings.everyMs : Math.min(SOON_MS, settings.everyMs), undefined, {
        signal: this.stopping.signal,
      });
      await Promise.race([pause.catch(() => undefined), new Promise<void>((resolve) => (this.wake = resolve))]);
      this.wake = null;
    }
  }

  /** Compares the wanted models with the served models once. Rejects if the server does not answer as it should. */
  private async check(): Promise<void> {
    const { replica, onReady, log } = this.options;
    let { epoch } = replica;
    const served = new Set(await this.server.models());
    const missing = this.options.baseModels().filter((name) => !served.has(name));
    if (missing.length > 0) throw new Error(`The model server does not serve ${missing.join(', ')}.`);
    // An adapter that was changed gets no further requests and is unloaded, as one that is not wanted.
    const wanted = await this.unchanged();
    const names = new Set(wanted.map(({ name }) => name));
    if (replica.epoch === epoch && [...replica.routable].some((name) => names.has(name) && !served.has(name))) {
      log.warn({ replica: replica.url }, 'model server has lost adapters');
      replica.markUnready();
      epoch = replica.epoch;
    }
    for (const name of replica.routable) if (!names.has(name) || !served.has(name)) replica.routable.delete(name);
    for (const adapter of wanted) await this.loadAndRoute(adapter, served, epoch);
    // When a connection broke while adapters were being loaded, this check is out of date.
    if (replica.epoch !== epoch) return;
    if (!replica.ready) {
      log.info({ replica: replica.url, adapters: [...replica.routable] }, 'model server is ready');
      replica.ready = true;
      onReady();
    }
    await this.unloadUnwanted(served, names);
  }

  /** The wanted adapters whose files were not changed. Rejects at the stop: large files take long to read. */
  private unchanged(): Promise<WantedAdapter[]> {
    const { signal } = this.stopping;
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const { adapterCheck, wanted } = this.options;
    return Promise.race([adapterCheck.unchanged(wanted()), stopped]).finally(() =>
      signal.removeEventListener('abort', stop),
    );
  }

  private async loadAndRoute({ name, path }: WantedAdapter, served: ReadonlySet<string>, epoch: number): Promise<void> {
    const { replica, settings, onReady, log } = this.options;
    if (replica.routable.has(name)) return;
    const failure = this.failed.get(name);
    if (failure !== undefined && failure.until > Date.now()) return;
    try {
      if (!served.has(name) && settings.manageAdapters) await this.server.load(name, path);
      await this.server.probe(name);
      if (replica.epoch !== epoch) return;
      this.failed.delete(name);
      replica.routable.add(name);
      if (replica.ready) onReady();
      log.info({ replica: replica.url, adapter: name }, 'adapter takes traffic');
    } catch (error) {
      // The server was restarted meanwhile, so the adapter may be intact: the next check tries it at once.
      if (replica.epoch !== epoch) return;
      const waitMs = Math.min((failure?.waitMs ?? 500) * 2, LONGEST_BACKOFF_MS);
      this.failed.set(name, { until: Date.now() + waitMs, waitMs });
      log.warn({ replica: replica.url, adapter: name, error: (error as Error).message }, 'adapter could not be loaded');
    }
  }

  private async unloadUnwanted(served: ReadonlySet<string>, wanted: ReadonlySet<string>): Promise<void> {
    const { replica, settings, known, log } = this.options;
    for (const name of this.unwantedSince.keys())
      if (wanted.has(name) || !served.has(name)) this.unwantedSince.delete(name);
    if (!settings.manageAdapters) return;
    for (const name of served) {
      if (wanted.has(name) || !known().has(name)) continue;
      const since = this.unwantedSince.get(name) ?? Date.now();
      this.unwantedSince.set(name, since);
      // Other gateways may send requests until they have read the registry, so `drainMs` waits for them. The count of
      // requests in flight covers only this gateway.
      if (Date.now() - since < settings.drainMs || replica.inFlightByModel.has(name)) continue;
      await this.server.unload(name);
      log.info({ replica: replica.url, adapter: name }, 'adapter was unloaded');
    }
  }
}
