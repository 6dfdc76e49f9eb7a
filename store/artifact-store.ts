import type { z } from 'zod';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { DamagedLines } from './damaged-lines';

/** A document that is only replaced as a whole. */
export interface StoredDocument {
  value: unknown;
  /**
   * The version that a change must name as its basis. Every write makes a new version, even if the value is the same.
   */
  version: string;
}

/** Properties of an artifact's bytes that its reference records. */
export interface ArtifactOptions {
  /** Default: by the extension of its name. */
  mediaType?: string;
  /** Number of its lines. */
  records?: number;
}

/** Content of an artifact, in consecutive parts. */
export type ArtifactParts = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** A file of the store with any content. */
export interface StoredFile {
  key: string;
  bytes: number;
  /** Milliseconds since 1970. */
  modifiedMs: number;
}

/** A line of a segment, and its place in the file. */
export interface SegmentLine<T> {
  value: T;
  /** Offset of its first byte. */
  start: number;
  /** Offset after its line feed, where a later reading may begin. */
  end: number;
}

/** The lines of a segment, one after the other. They can be read only once. */
export interface SegmentReading<T> extends AsyncIterable<SegmentLine<T>> {
  /** The lines so far that could not be read. They are left out and never end the reading. */
  readonly damaged: DamagedLines;
  /** Offset after the last complete line so far. */
  readonly end: number;
}

/**
 * Append-only work file of one activity, with one JSON document per line. It survives its writer: a retry reads the
 * existing lines and continues. It has one writer at a time, the activity that owns its key.
 */
export interface Segment {
  /**
   * Reads the complete lines without holding the file in memory. A line that is not JSON, or that the schema refuses,
   * is set aside in `damaged`, because one torn line must not cost the paid work in the others. A last line without a
   * line feed is neither returned nor damaged, because its writer may be about to finish it. A missing file has no
   * lines.
   * @param from offset of a line's first byte.
   * @param to offset after the last byte to read. Default: the end of the file.
   */
  read<T>(schema: z.ZodType<T>, from?: number, to?: number): SegmentReading<T>;
  /**
   * Appends a line. When the promise resolves, the operating system has the line. When it rejects, no part of the line
   * remains. Throws RangeError for a line of more than 64 MiB.
   */
  append(value: unknown): Promise<void>;
  close(): Promise<void>;
}

/**
 * The store of all results. Keys are slash-separated paths, relative to the store's root. If the disk is full or fails,
 * all writing methods throw StoreFullError or StoreUnavailableError.
 */
export interface ArtifactStore {
  /**
   * Writes an immutable artifact called `<directory>/<stem>-<first 12 hex of sha256><extension>` and returns its
   * reference. Writing the same bytes again changes nothing.
   */
  put(directory: string, name: string, data: string | Uint8Array, options?: ArtifactOptions): Promise<ArtifactRef>;
  /** The same for content that comes in parts; only a few of them are in memory at a time. */
  putParts(directory: string, name: string, parts: ArtifactParts, options?: ArtifactOptions): Promise<ArtifactRef>;
  /**
   * Reads an artifact. Like all methods that read an artifact, it throws StoreMissingError if there is none, and
   * StoreCorruptError if its bytes do not match the reference.
   */
  get(ref: ArtifactRef): Promise<Buffer>;
  /**
   * Reads an artifact of which only the key is known. Throws StoreCorruptError if its bytes do not have the hash in its
   * name.
   */
  getNamed(key: string): Promise<Buffer>;
  /**
   * Reads bytes `start` (inclusive) to `end` (exclusive) of an artifact. Throws StoreCorruptError if they do not have
   * the given sha256.
   */
  range(ref: ArtifactRef, part: { start: number; end: number; sha256: string }): Promise<Buffer>;
  /**
   * Reads an artifact line by line, without holding all of it in memory. A line includes its line feed; `end` is the
   * offset after it. Throws StoreCorruptError before the first line if the bytes do not match the reference.
   */
  lines(ref: ArtifactRef): AsyncIterable<{ line: Buffer; end: number }>;
  /**
   * Moves a model's directory to `<directory>/<stem>-<first 12 hex of sha256>` and returns that key; `sha256` is its
   * hash (`model-hash.ts`). A directory on another disk is copied. If the key is there already with this hash, it only
   * counts as modified now, so that `remove` leaves it. With other files it is replaced.
   */
  adoptDirectory(directory: string, stem: string, sha256: string, sourcePath: string): Promise<string>;
  /** Reads a mutable document; null if there is none. Throws StoreCorruptError for a damaged one. */
  readDocument(key: string): Promise<StoredDocument | null>;
  /**
   * Replaces a document if its version is still `expected` (null: it must not exist), and returns the new version. Of
   * several writers with the same `expected`, exactly one succeeds. Throws StoreConflictError otherwise.
   */
  swapDocument(key: string, value: unknown, expected: string | null): Promise<string>;
  /** Opens a segment. No file is created before the first append. */
  segment(key: string): Segment;
  /** Names of the entries directly below a key, including documents, sorted; empty if there is no such key. */
  list(key: string): Promise<string[]>;
  /**
   * All files whose key begins with `prefix` and a slash; for the empty prefix, all files of the store. It follows no
   * symbolic links.
   */
  listAll(prefix: string): AsyncIterable<StoredFile>;
  /**
   * Removes the file with this key, or every file whose key begins with it and a slash. It removes nothing if one of
   * them was modified after `unmodifiedSinceMs` (milliseconds since 1970). It also removes nothing if a symbolic link
   * is on the path. Returns whether something was removed.
   */
  remove(key: string, unmodifiedSinceMs: number): Promise<boolean>;
  /** Absolute path of a key, for parts that need files (trainer, policy server). */
  localPath(key: string): string;
}

/** Reads an artifact as JSON and checks it. Throws ZodError if the schema refuses it. */
export async function getJson<T>(store: ArtifactStore, ref: ArtifactRef, schema: z.ZodType<T>): Promise<T> {
  return schema.parse(JSON.parse((await store.get(ref)).toString('utf8')));
}

/** Reads an artifact as one JSON document per line and checks each. Throws ZodError if the schema refuses one. */
export async function getLines<T>(store: ArtifactStore, ref: ArtifactRef, schema: z.ZodType<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const { line } of store.lines(ref)) {
    const text = line.toString('utf8').trimEnd();
    if (text !== '') values.push(schema.parse(JSON.parse(text)));
  }
  return values;
}

/** All lines of a segment that match the schema, in the order of writing, and the lines that do not. */
export async function readSegment<T>(
  segment: Segment,
  schema: z.ZodType<T>,
): Promise<{ values: T[]; damaged: DamagedLines }> {
  const reading = segment.read(schema);
  const values: T[] = [];
  for await (const { value } of reading) values.push(value);
  return { values, damaged: reading.damaged };
}

/** Writes values as one JSON document per line. They are processed one after the other, and are never all in memory. */
export async function putLines(
  store: ArtifactStore,
  directory: string,
  name: string,
  values: Iterable<unknown> | AsyncIterable<unknown>,
): Promise<ArtifactRef> {
  let records = 0;
  async function* lines() {
    for await (const value of values) {
      records++;
      yield `${JSON.stringify(value)}\n`;
    }
  }
  const ref = await store.putParts(directory, name, lines(), { mediaType: 'application/jsonl' });
  return { ...ref, records };
}

/** Writes a value as pretty-printed JSON. */
export function putJson(store: ArtifactStore, directory: string, name: string, value: unknown): Promise<ArtifactRef> {
  return store.put(directory, name, `${JSON.stringify(value, null, 2)}\n`, { mediaType: 'application/json' });
}
