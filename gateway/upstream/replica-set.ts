import { type EventEmitter, once } from 'node:events';
import type { Replica } from './replica';

/** The model servers of one agent. */
export class ReplicaSet {
  constructor(
    readonly all: readonly Replica[],
    /** Emits `ready` whenever any server becomes ready. */
    private readonly events: EventEmitter,
  ) {}

  /** Whether at least one server is ready. */
  anyReady(): boolean {
    return this.all.some((replica) => replica.ready);
  }

  /** Waits until a server is ready, or `signal` fires. Resolves with whether one is ready. */
  async readyBefore(signal: AbortSignal): Promise<boolean> {
    while (!this.anyReady() && !signal.aborted) await once(this.events, 'ready', { signal }).catch(() => undefined);
    return this.anyReady();
  }
}
