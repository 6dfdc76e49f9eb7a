import { once } from 'node:events';
import { EnvironmentProcess } from './environment-process';
import type { ModuleSource } from './environment-source';
import type { SandboxError } from './errors';
import { type LaunchedRuntime, launchRuntime } from './launch';
import type { EnvironmentHandle } from './environment-handle';
import { isolationFor } from './isolation';
import { openEnvironment, type OpenEnvironmentOptions, type OpenModuleOptions } from './open-environment';
import { type JailProfile, loadProfile } from './profile';

/** Settings of an EnvironmentPool. */
export interface EnvironmentPoolOptions {
  /** Number of jails that wait for a source. Default: 1. */
  spares?: number;
  /** How long an unused jail waits before it is ended, in milliseconds. Default: one minute. */
  idleMs?: number;
  /** For tests. */
  launch?: typeof launchRuntime;
}

interface Spare {
  launched: LaunchedRuntime;
  idleTimer: NodeJS.Timeout;
  onExit: () => void;
}

/**
 * Keeps ready jails that have not loaded a source yet. A jail loads only one source and is never reused. So an
 * environment that manipulates its process cannot reach another environment.
 *
 * Episodes that share a process are lost together when it crashes. `activities/rollout/run-rollouts.ts` plays them
 * again from their seeds, one by one, so that only the episode that caused the crash fails.
 */
export class EnvironmentPool {
  private readonly spares: Spare[] = [];
  private readonly options: Required<EnvironmentPoolOptions>;
  /** Starts in progress. */
  private readonly launches = new Set<Promise<void>>();
  private closed = false;

  constructor(options: EnvironmentPoolOptions = {}) {
    this.options = { spares: 1, idleMs: 60_000, launch: launchRuntime, ...options };
  }

  /**
   * Opens an environment as `openEnvironment` does, in a waiting jail if there is one. Environments without the jail,
   * and those with their own profile, get a new process. The pool starts its first jail after the first opening, so an
   * unused pool starts none.
   * @throws what `openEnvironment` throws.
   */
  open(options: OpenModuleOptions): Promise<EnvironmentProcess>;
  open(options: OpenEnvironmentOptions): Promise<EnvironmentHandle>;
  async open(options: OpenEnvironmentOptions): Promise<EnvironmentHandle> {
    if (this.closed) throw new Error('The environment pool is closed.');
    const loaded = loadProfile();
    if (!('source' in options)) return openEnvironment(options);
    if (options.profile || (await isolationFor(options, loaded)) !== 'jail') return openEnvironment(options);
    const launched = this.take();
    try {
      return launched ? await this.start(launched, options, loaded.profile) : await openEnvironment(options);
    } finally {
      // The next jail starts only now, because an earlier start would take processor time from this one.
      this.refill();
    }
  }

  /**
   * Ends the waiting jails. Resolves when they have ended: a program that ends earlier leaves their control groups
   * behind. Open environments stay open; their callers must close them.
   */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.launches, ...[...this.spares].map((spare) => this.end(spare))]);
  }

  /** Number of jails that wait. */
  get size(): number {
    return this.spares.length;
  }

  private async start(
    launched: LaunchedRuntime,
    options: ModuleSource,
    profile: JailProfile,
  ): Promise<EnvironmentProcess> {
    try {
      return await new EnvironmentProcess(options.name, 'jail', launched, profile).start(
        options.source,
        options.laterBySeconds,
      );
    } catch (error) {
      // The jail may have died while it waited, for lack of memory. That says nothing about the source.
      const { type } = error as SandboxError;
      if (type === 'Sandbox.StartFailed' || type === 'Sandbox.EnvironmentKilled') return openEnvironment(options);
      throw error;
    }
  }

  private take(): LaunchedRuntime | null {
    const spare = this.spares.shift();
    if (!spare) return null;
    clearTimeout(spare.idleTimer);
    spare.launched.child.off('exit', spare.onExit);
    return spare.launched;
  }

  private refill(): void {
    while (!this.closed && this.spares.length + this.launches.size < this.options.spares) {
      // A failed start is not reported here. The next opening starts its own jail and reports the cause.
      const launch: Promise<void> = this.options
        .launch(loadProfile(), 'jail')
        .then((launched) => this.keep(launched))
        .catch(() => undefined)
        .finally(() => this.launches.delete(launch));
      this.launches.add(launch);
    }
  }

  private keep(launched: LaunchedRuntime): Promise<void> {
    const spare: Spare = {
      launched,
      idleTimer: setTimeout(() => void this.end(spare), this.options.idleMs).unref(),
      onExit: () => this.forget(spare),
    };
    launched.child.once('exit', spare.onExit);
    launched.child.once('error', spare.onExit);
    this.spares.push(spare);
    return this.closed ? this.end(spare) : Promise.resolve();
  }

  private async end(spare: Spare): Promise<void> {
    const { child } = spare.launched;
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
    // It is removed at once, because a jail that is being killed must not be given to a caller.
    const place = this.spares.indexOf(spare);
    if (place !== -1) this.spares.splice(place, 1);
    child.ref();
    spare.launched.kill();
    await ended;
  }

  private forget(spare: Spare): void {
    clearTimeout(spare.idleTimer);
    const place = this.spares.indexOf(spare);
    if (place !== -1) this.spares.splice(place, 1);
    spare.launched.release();
  }
}
