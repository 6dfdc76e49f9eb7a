import { EventEmitter } from 'node:events';
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

  /** Waits for at most `limitMs` until a server is ready. Resolves with whether one is. */
  waitUntilReady(limitMs: number): Promise<boolean> {
    if (this.anyReady()) return Promise.resolve(true);
    if (limitMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const check = () => {
        if (this.anyReady()) end(true);
      };
      const end = (found: boolean) => {
        clearTimeout(timer);
        this.events.off('ready', check);
        resolve(found);
      };
      const timer = setTimeout(() => end(false), limitMs);
      this.events.on('ready', check);
    });
  }
}

/** An emitter for `ready`. Every waiting request listens to it, so it does not warn about many listeners. */
export const readyEvents = (): EventEmitter => new EventEmitter().setMaxListeners(0);
