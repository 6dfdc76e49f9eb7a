import { createHash } from 'node:crypto';
import type { EnvironmentProcess } from './environment-process';
import { openEnvironment, type OpenEnvironmentOptions } from './open-environment';

/** A borrowed environment; `release` gives it back. */
export interface EnvironmentLease {
  environment: EnvironmentProcess;
  release(): void;
}

interface Entry {
  opening: Promise<EnvironmentProcess>;
  users: number;
  idleTimer: NodeJS.Timeout | null;
}

/**
 * Keeps one process per environment source and trust: borrowers of the same source share it, an unused one is closed.
 */
export class EnvironmentPool {
  private readonly entries = new Map<string, Entry>();
  private closed = false;

  /**
   * @param idleMs how long an unused process is kept, in milliseconds.
   * @param open for tests.
   */
  constructor(
    private readonly idleMs = 30_000,
    private readonly open: (options: OpenEnvironmentOptions) => Promise<EnvironmentProcess> = openEnvironment,
  ) {}

  /**
   * Borrows the environment of a source, started where there is none or the last one died. Throws what `openEnvironment` throws.
   */
  async acquire(options: OpenEnvironmentOptions): Promise<EnvironmentLease> {
    if (this.closed) throw new Error('The environment pool is closed.');
    const key = createHash('sha256').update(`${options.trust}\0${options.source}`).digest('hex');
    let entry = this.entries.get(key);
    if (entry && !(await isAlive(entry))) {
      if (this.entries.get(key) === entry) this.entries.delete(key);
      entry = this.entries.get(key);
    }
    if (!entry) {
      entry = { opening: this.open(options), users: 0, idleTimer: null };
      this.entries.set(key, entry);
    }
    const held = entry;
    held.users++;
    if (held.idleTimer) clearTimeout(held.idleTimer);
    held.idleTimer = null;
    try {
      const environment = await held.opening;
      let released = false;
      return {
        environment,
        release: () => {
          if (!released) this.giveBack(key, held);
          released = true;
        },
      };
    } catch (error) {
      if (this.entries.get(key) === held) this.entries.delete(key);
      throw error;
    }
  }

  /** Borrows for the time of one function. */
  async use<T>(options: OpenEnvironmentOptions, work: (environment: EnvironmentProcess) => Promise<T>): Promise<T> {
    const lease = await this.acquire(options);
    try {
      return await work(lease.environment);
    } finally {
      lease.release();
    }
  }

  /** Closes every process; borrowers get `EnvironmentClosed`. */
  async close(): Promise<void> {
    this.closed = true;
    const entries = [...this.entries.values()];
    this.entries.clear();
    await Promise.all(entries.map(shut));
  }

  /** Number of processes that are held. */
  get size(): number {
    return this.entries.size;
  }

  private giveBack(key: string, entry: Entry): void {
    if (--entry.users > 0) return;
    if (this.closed || this.entries.get(key) !== entry) {
      void shut(entry);
      return;
    }
    entry.idleTimer = setTimeout(() => {
      this.entries.delete(key);
      void shut(entry);
    }, this.idleMs);
    entry.idleTimer.unref();
  }
}

async function isAlive(entry: Entry): Promise<boolean> {
  return entry.opening.then(
    (environment) => environment.alive,
    () => false,
  );
}

async function shut(entry: Entry): Promise<void> {
  if (entry.idleTimer) clearTimeout(entry.idleTimer);
  await entry.opening.then(
    (environment) => environment.close(),
    () => undefined,
  );
}
