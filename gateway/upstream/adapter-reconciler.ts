/**
 * Keeps one model server's adapters as the registries want them. What is loaded is read from the server each time,
 * never remembered: a restarted server has lost everything. Order for an adapter: load, probe one token, route; and
 * back: stop routing, drain, unload.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayConfig } from '../../contracts/config/gateway-config';
import type { Log } from '../log';
import { ReplicaAdmin } from './replica-admin';
import type { Replica } from './replica';

/** An adapter that the model servers should have. */
export interface WantedAdapter {
  name: string;
  /** Directory in PEFT format, as the model server sees it; null for a merge that is nowhere on disk. */
  path: string | null;
  /** What a merge is made of. */
  parts?: readonly { adapter: string; weight: number }[];
}

export interface AdapterReconcilerOptions {
  replica: Replica;
  settings: GatewayConfig['reconcile'];
  /** Base models that must be served there. */
  baseModels: () => readonly string[];
  wanted: () => readonly WantedAdapter[];
  /** Names that the registries know, wanted or not. Others are somebody else's and are left alone. */
  known: () => ReadonlySet<string>;
  onReady: () => void;
  log: Log;
}

const LONGEST_BACKOFF_MS = 30_000;
/** Between looks at a server that does not answer. */
const DOWN_EVERY_MS = 250;

export class AdapterReconciler {
  private readonly server: ReplicaAdmin;
  private readonly stopping = new AbortController();
  private readonly unwantedSince = new Map<string, number>();
  private readonly failed = new Map<string, { until: number; waitMs: number }>();
  private wake: (() => void) | null = null;
  private loop: Promise<void> | null = null;

  constructor(private readonly options: AdapterReconcilerOptions) {
    this.server = new ReplicaAdmin(options.replica);
  }

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake?.();
    await this.loop;
  }

  /** Looks at once: a connection broke, or a registry changed. */
  kick(): void {
    this.wake?.();
  }

  private async run(): Promise<void> {
    const { replica, settings, log } = this.options;
    while (!this.stopping.signal.aborted) {
      try {
        await this.check();
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        if (replica.ready) {
          log.warn({ replica: replica.url, error: (error as Error).message }, 'model server is not ready');
          replica.markUnready();
        }
      }
      const pause = sleep(replica.ready ? settings.everyMs : Math.min(DOWN_EVERY_MS, settings.everyMs), undefined, {
        signal: this.stopping.signal,
      });
      await Promise.race([pause.catch(() => undefined), new Promise<void>((resolve) => (this.wake = resolve))]);
      this.wake = null;
    }
  }

  /** One comparison of wanted and served. Throws when the server does not answer as it should. */
  async check(): Promise<void> {
    const { replica, wanted, onReady, log } = this.options;
    const { epoch } = replica;
    const served = new Set(await this.server.models());
    const missing = this.options.baseModels().filter((name) => !served.has(name));
    if (missing.length > 0) throw new Error(`does not serve ${missing.join(', ')}`);
    const names = new Set(wanted().map(({ name }) => name));
    for (const name of replica.routable) if (!names.has(name) || !served.has(name)) replica.routable.delete(name);
    for (const adapter of wanted()) await this.loadAndRoute(adapter, served, epoch);
    // A connection may have broken while adapters were loaded: then this look is out of date.
    if (replica.epoch !== epoch) return;
    if (!replica.ready) {
      log.info({ replica: replica.url, adapters: [...replica.routable] }, 'model server is ready');
      replica.ready = true;
      onReady();
    }
    await this.unloadUnwanted(served, names);
  }

  private async loadAndRoute(
    { name, path, parts }: WantedAdapter,
    served: ReadonlySet<string>,
    epoch: number,
  ): Promise<void> {
    const { replica, settings, onReady, log } = this.options;
    if (replica.routable.has(name)) return;
    const failure = this.failed.get(name);
    if (failure !== undefined && failure.until > Date.now()) return;
    try {
      if (!served.has(name) && settings.manageAdapters) {
        if (path !== null) await this.server.load(name, path);
        else await this.server.merge(name, parts ?? []);
      }
      await this.server.probe(name);
      if (replica.epoch !== epoch) return;
      this.failed.delete(name);
      replica.routable.add(name);
      if (replica.ready) onReady();
      log.info({ replica: replica.url, adapter: name }, 'adapter takes traffic');
    } catch (error) {
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
      // The other gateways read the registry within their poll; the wait covers their requests, the count our own.
      if (Date.now() - since < settings.drainMs || replica.inFlightByModel.has(name)) continue;
      await this.server.unload(name);
      log.info({ replica: replica.url, adapter: name }, 'adapter was unloaded');
    }
  }
}
