import type { z } from 'zod';

/**
 * A part of a line-delimited artifact in memory; `StoredLines` reads a whole one. It is held as bytes, and a line is
 * parsed on demand: as objects, trajectories would need ten times as much memory.
 */
export class LineFile<T> {
  private readonly ends: number[] = [];

  constructor(
    private readonly data: Buffer,
    private readonly schema: z.ZodType<T>,
  ) {
    for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10, end + 1)) this.ends.push(end);
    if (data.length > 0 && data[data.length - 1] !== 10) this.ends.push(data.length);
  }

  get length(): number {
    return this.ends.length;
  }

  /** Parses a line. Throws RangeError for an index outside the file, and ZodError if the schema refuses the line. */
  at(index: number): T {
    return this.schema.parse(JSON.parse(this.bytesOf(index).toString('utf8')));
  }

  /** The bytes of a line, without its end. Throws RangeError for an index outside the file. */
  bytesOf(index: number): Buffer {
    const end = this.ends[index];
    if (end === undefined)
      throw new RangeError(`Line ${index} of an artifact with ${this.length} lines was asked for.`);
    const start = index === 0 ? 0 : (this.ends[index - 1] as number) + 1;
    return this.data.subarray(start, end);
  }
}

/** Keeps the values of the `capacity` most recently used keys. A value that fails to load is not kept. */
export class RecentCache<V> {
  private readonly entries = new Map<string, Promise<V>>();

  constructor(private readonly capacity: number) {}

  get(key: string, load: () => Promise<V>): Promise<V> {
    let entry = this.entries.get(key);
    this.entries.delete(key);
    if (!entry) {
      entry = load();
      entry.catch(() => this.entries.delete(key));
    }
    this.entries.set(key, entry);
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.capacity) break;
      this.entries.delete(oldest);
    }
    return entry;
  }
}
