import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from '../contracts/artifacts/registry';
import { startOf } from '../contracts/clean-text';
import { type ArtifactStore, readRegistry } from '../store';
import type { Log } from './log';

/** What a poller needs. */
export interface RegistryPollerOptions {
  store: ArtifactStore;
  agents: readonly string[];
  everyMs: number;
  /** Called with each agent's registry after its first reading, and after every change. */
  onChange: (agent: string, registry: Registry) => void;
  log: Log;
}

/**
 * Reads the agents' registries at an interval. Each reading costs one small file. Notifications can stop unnoticed, but
 * polling cannot. If a registry cannot be read, the last one stays valid.
 */
export class RegistryPoller {
  private readonly stopping = new AbortController();
  private readonly last = new Map<string, string>();
  private loop: Promise<void> | null = null;
  private errorLogged = false;

  constructor(private readonly options: RegistryPollerOptions) {}

  /** Reads every registry once, then again at the interval. Never rejects: a registry that cannot be read is logged. */
  async start(): Promise<void> {
    await this.readAll();
    this.loop = this.run();
  }

  /** Stops. Resolves when the current reading has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  private async readAll(): Promise<void> {
    const { store, agents, onChange, log } = this.options;
    for (const agent of agents) {
      try {
        const registry = await readRegistry(store, agent);
        const text = JSON.stringify(registry);
        if (this.last.get(agent) === text) continue;
        this.last.set(agent, text);
        onChange(agent, registry);
        this.errorLogged = false;
        log.info({ agent, active: registry.active, canary: registry.canary?.version ?? null }, 'registry');
      } catch (error) {
        if (!this.errorLogged)
          log.error(
            { agent, error: startOf((error as Error).message, 500) },
            'registry cannot be read; the last one stays in force',
          );
        this.errorLogged = true;
      }
    }
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sleep(this.options.everyMs, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.readAll();
    }
  }
}
