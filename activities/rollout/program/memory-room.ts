/** Someone who waits for memory, in MiB. */
interface Waiting {
  needs: number;
  enter: () => void;
}

/**
 * The memory that the programs of this process share, whichever runs they belong to. It is what is free while none of
 * them runs. Whoever needs more than all of it runs alone.
 */
export class MemoryRoom {
  private taken = 0;
  private size = 0;
  private readonly waiting: Waiting[] = [];

  /** @param freeMiB the memory that is free now. */
  constructor(private readonly freeMiB = () => Math.floor(process.availableMemory() / 2 ** 20)) {}

  /** How much there is in all, in MiB, and for how many programs that is enough, each of which needs `needs` MiB. */
  placesFor(needs: number): { size: number; places: number } {
    this.measure();
    return { size: this.size, places: Math.max(1, Math.floor(this.size / needs)) };
  }

  /**
   * Runs the action when there is room for it. Those who wait enter in their order.
   * @param closed rejects with the signal's reason if it is aborted before.
   */
  async run<T>(needs: number, closed: AbortSignal, action: () => Promise<T>): Promise<T> {
    await this.enter(needs, closed);
    try {
      return await action();
    } finally {
      this.taken -= needs;
      this.admit();
    }
  }

  private async enter(needs: number, closed: AbortSignal): Promise<void> {
    closed.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry = { needs, enter: resolve };
    const leave = () => {
      const place = this.waiting.indexOf(entry);
      if (place === -1) return;
      this.waiting.splice(place, 1);
      reject(closed.reason as Error);
      this.admit();
    };
    closed.addEventListener('abort', leave, { once: true });
    this.waiting.push(entry);
    this.admit();
    await promise.finally(() => closed.removeEventListener('abort', leave));
  }

  private admit(): void {
    this.measure();
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (this.taken > 0 && this.taken + next.needs > this.size) return;
      this.waiting.shift();
      this.taken += next.needs;
      next.enter();
    }
  }

  private measure(): void {
    if (this.taken === 0) this.size = this.freeMiB();
  }
}

/** That of this process. */
export const memoryRoom = new MemoryRoom();
