interface Share<T> {
  size: number;
  /** By key, the most recently used last. */
  entries: Map<string, { value: T; size: number }>;
}

/** The client of a key that `cacheKey` made. */
const clientOf = (key: string): string => key.slice(0, key.indexOf('\u0000'));

/**
 * What a process keeps for all clients together, up to a limit. Above it, the client that holds most loses what it has
 * not used for the longest time: no client takes the room of another that holds less.
 */
export class ClientShares<T> {
  private readonly shares = new Map<string, Share<T>>();
  private total = 0;

  /** `limit` is the largest sum of the sizes. `onDrop` is told what was dropped for want of room. */
  constructor(
    private readonly limit: number,
    private readonly onDrop: (client: string, value: T) => void,
  ) {}

  /** Number of values. */
  get count(): number {
    return [...this.shares.values()].reduce((sum, { entries }) => sum + entries.size, 0);
  }

  /** Whether there is a value. Does not count as its use. */
  has(key: string): boolean {
    return this.shares.get(clientOf(key))?.entries.has(key) ?? false;
  }

  /** A value, which becomes the most recently used one of its client. */
  get(key: string): T | undefined {
    const entries = this.shares.get(clientOf(key))?.entries;
    const found = entries?.get(key);
    if (entries === undefined || found === undefined) return undefined;
    entries.delete(key);
    entries.set(key, found);
    return found.value;
  }

  /** Keeps a value under a key of `cacheKey`, in place of an earlier one. Drops values when there is no more room. */
  set(key: string, value: T, size = 1): void {
    this.take(key);
    const client = clientOf(key);
    const share: Share<T> = this.shares.get(client) ?? { size: 0, entries: new Map() };
    this.shares.set(client, share);
    share.entries.set(key, { value, size });
    share.size += size;
    this.total += size;
    while (this.total > this.limit) this.dropOne();
  }

  /** Removes a value and returns it. */
  take(key: string): T | undefined {
    const client = clientOf(key);
    const share = this.shares.get(client);
    const found = share?.entries.get(key);
    if (share === undefined || found === undefined) return undefined;
    share.entries.delete(key);
    share.size -= found.size;
    this.total -= found.size;
    if (share.entries.size === 0) this.shares.delete(client);
    return found.value;
  }

  /** Removes all values and returns them. */
  takeAll(): T[] {
    const values = [...this.shares.values()].flatMap(({ entries }) => [...entries.values()].map(({ value }) => value));
    this.shares.clear();
    this.total = 0;
    return values;
  }

  private dropOne(): void {
    const largest = [...this.shares].reduce((most, one) => (one[1].size > most[1].size ? one : most));
    const [client, { entries }] = largest;
    const oldest = entries.keys().next().value as string;
    this.onDrop(client, this.take(oldest) as T);
  }
}
