import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { ArtifactStore } from './artifact-store';
import { RecentCache } from './line-file';

/** The bytes of a line, and their hash. */
interface Line {
  start: number;
  end: number;
  sha256: string;
}

/**
 * A line-delimited artifact that stays in the store. It is read as a stream; for a line that was looked up, only its
 * position is kept, not its content. So memory does not grow with the size of the lines.
 */
export class StoredLines<T> {
  private places: Promise<Line[]> | null = null;

  constructor(
    private readonly store: ArtifactStore,
    private readonly ref: ArtifactRef,
    private readonly schema: z.ZodType<T>,
  ) {}

  /**
   * Reads one line; the first call reads the whole artifact to find all lines. Throws RangeError for an index outside
   * the artifact, ZodError if the schema refuses the line, and the errors of reading an artifact.
   */
  async at(index: number): Promise<T> {
    const places = await this.findPlaces();
    const place = places[index];
    if (place === undefined)
      throw new RangeError(`Line ${index} of ${this.ref.key} with ${places.length} lines was asked for.`);
    return this.parse(await this.store.range(this.ref, place));
  }

  /** All documents in order, without keeping them in memory. Throws like `ArtifactStore.lines`, and ZodError. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const { line } of this.store.lines(this.ref)) yield this.parse(line);
  }

  private parse(line: Buffer): T {
    return this.schema.parse(JSON.parse(line.toString('utf8')));
  }

  private findPlaces(): Promise<Line[]> {
    this.places ??= this.readPlaces().catch((error: unknown) => {
      this.places = null;
      throw error;
    });
    return this.places;
  }

  private async readPlaces(): Promise<Line[]> {
    const places: Line[] = [];
    for await (const { line, end } of this.store.lines(this.ref))
      places.push({ start: end - line.length, end, sha256: createHash('sha256').update(line).digest('hex') });
    return places;
  }
}

/**
 * Makes a reader of line-delimited artifacts of one schema. It keeps the line positions of the last few artifacts,
 * because several activities look up lines of the same artifact.
 */
export function storedLines<T>(
  store: ArtifactStore,
  schema: z.ZodType<T>,
  capacity = 2,
): (ref: ArtifactRef) => Promise<StoredLines<T>> {
  const cache = new RecentCache<StoredLines<T>>(capacity);
  return (ref) => cache.get(ref.sha256, () => Promise.resolve(new StoredLines(store, ref, schema)));
}
