import { EventEmitter } from 'node:events';
import type { Replica } from './replica';

/** The model servers of one agent. */
export class ReplicaSet {
  constructor(
    readonly all: readonly Replica[],
    /** Emits `ready` whenever any server becomes ready. */
    private readonly news: EventEmitter,
  ) {}

  anyReady(): boolean {
    return this.all.some((replica) => replica.ready);
  }

  /** Waits until a server is ready, for `limitMs` at most. */
  waitUntilReady(limitMs: number): Promise<boolean> {
    if (this.anyReady()) return Promise.resolve(true);
    if (limitMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const look = () => {
        if (this.anyReady()) end(true);
      };
      const end = (found: boolean) => {
        clearTimeout(timer);
        this.news.off('ready', look);
        resolve(found);
      };
      const timer = setTimeout(() => end(false), limitMs);
      this.news.on('ready', look);
    });
  }
}

/** An emitter for `ready`. Every request that waits listens; more than ten of them are no leak. */
export const readyEvents = (): EventEmitter => new EventEmitter().setMaxListeners(0);
