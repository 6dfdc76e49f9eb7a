import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from '../contracts/artifacts/registry';
import { type ArtifactStore, readRegistry } from '../store';
import type { Log } from './log';

/** What a watch needs. */
export interface RegistryPollerOptions {
  store: ArtifactStore;
  agents: readonly string[];
  everyMs: number;
  /** Told of each agent's registry when it is first read and whenever it changed. */
  onChange: (agent: string, registry: Registry) => void;
  log: Log;
}

/**
 * Reads the agents' registries again and again: a look costs a small file, and unlike a notification it cannot go quiet
 * unnoticed. A document that cannot be read leaves the last one in force.
 */
export class RegistryPoller {
  private readonly stopping = new AbortController();
  private readonly last = new Map<string, string>();
  private loop: Promise<void> | null = null;
  private complained = false;

  constructor(private readonly options: RegistryPollerOptions) {}

  /** Resolves when every registry was read once, or could not be. */
  async start(): Promise<void> {
    await this.look();
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** One look at every agent. */
  async look(): Promise<void> {
    const { store, agents, onChange, log } = this.options;
    for (const agent of agents) {
      try {
        const registry = await readRegistry(store, agent);
        const text = JSON.stringify(registry);
        if (this.last.get(agent) === text) continue;
        this.last.set(agent, text);
        onChange(agent, registry);
        this.complained = false;
        log.info({ agent, active: registry.active, canary: registry.canary?.version ?? null }, 'registry');
      } catch (error) {
        if (!this.complained)
          log.error(
            { agent, error: (error as Error).message.slice(0, 500) },
            'registry cannot be read; the last one stays in force',
          );
        this.complained = true;
      }
    }
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sleep(this.options.everyMs, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.look();
    }
  }
}
