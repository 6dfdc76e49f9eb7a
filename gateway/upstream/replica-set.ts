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
  async waitUntilReady(limitMs: number): Promise<boolean> {
    if (this.anyReady()) return true;
    if (limitMs <= 0) return false;
    const timeOver = new AbortController();
    const timer = setTimeout(() => timeOver.abort(), limitMs);
    try {
      return await this.readyBefore(timeOver.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits until a server is ready, or `signal` aborts. Resolves with whether one is ready. */
  readyBefore(signal: AbortSignal): Promise<boolean> {
    if (this.anyReady() || signal.aborted) return Promise.resolve(this.anyReady());
    return new Promise((resolve) => {
      const check = () => {
        if (this.anyReady()) end(true);
      };
      const giveUp = () => end(false);
      const end = (found: boolean) => {
        signal.removeEventListener('abort', giveUp);
        this.events.off('ready', check);
        resolve(found);
      };
      signal.addEventListener('abort', giveUp);
      this.events.on('ready', check);
    });
  }
}

/** An emitter for `ready`. Every waiting request listens to it, so it does not warn about many listeners. */
export const readyEvents = (): EventEmitter => new EventEmitter().setMaxListeners(0);
