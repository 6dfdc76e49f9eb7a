import type { z } from 'zod';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';

/** A document that is replaced as a whole; `etag` is the sha256 of its bytes. */
export interface StoredDocument {
  value: unknown;
  etag: string;
}

/**
 * Append-only work file of one activity, one JSON document a line. It survives the death of its writer: a retry reads
 * what is there and goes on. It has one writer at a time (the activity that owns its key).
 */
export interface Segment {
  /**
   * Lines that were completely written; a torn last line (a writer killed in the middle) is left out, and cut off by
   * the first append.
   */
  read(): Promise<unknown[]>;
  /** Resolves when the line is with the operating system. */
  append(value: unknown): Promise<void>;
  close(): Promise<void>;
}

/** Where a run's results live. Keys are slash-separated and relative to the store's root. */
export interface ArtifactStore {
  /**
   * Writes an immutable artifact called `<directory>/<stem>-<first 12 hex of sha256><extension>` and returns its
   * reference. Writing the same bytes again is a no-op.
   */
  put(
    directory: string,
    name: string,
    data: string | Uint8Array,
    options?: { mediaType?: string; records?: number },
  ): Promise<ArtifactRef>;
  /** The artifact's bytes. Throws StoreCorruptError when they do not match the reference. */
  get(ref: ArtifactRef): Promise<Buffer>;
  /**
   * An artifact of which only the key is known. Throws StoreCorruptError when its bytes do not have the hash that its
   * name begins.
   */
  getNamed(key: string): Promise<Buffer>;
  /**
   * Bytes `start` (inclusive) to `end` (exclusive) of an artifact. Throws StoreCorruptError when their sha256 is
   * another one.
   */
  range(ref: ArtifactRef, part: { start: number; end: number; sha256: string }): Promise<Buffer>;
  /**
   * The artifact's lines with their line feeds and the offset behind each, without holding the whole of it. Throws
   * StoreCorruptError behind the last one when the bytes do not match the reference.
   */
  lines(ref: ArtifactRef): AsyncIterable<{ line: Buffer; end: number }>;
  /**
   * Adds a directory under `<directory>/<stem>-<first 12 hex of sha256>`; the source is moved. A no-op when it is there
   * already.
   */
  adoptDirectory(directory: string, stem: string, sha256: string, sourcePath: string): Promise<string>;
  /** Reads a mutable document; null when there is none. */
  readDocument(key: string): Promise<StoredDocument | null>;
  /**
   * Replaces a document when its etag is still `expected` (null: must not exist). Throws StoreConflictError otherwise.
   */
  swapDocument(key: string, value: unknown, expected: string | null): Promise<string>;
  segment(key: string): Segment;
  /** Names of the entries directly below a key, sorted; empty when there is none. */
  list(key: string): Promise<string[]>;
  /** Absolute path of a key, for parts that need files (trainer, policy server). */
  localPath(key: string): string;
}

/** The artifact parsed as JSON and checked. Throws ZodError when the schema refuses it. */
export async function getJson<T>(store: ArtifactStore, ref: ArtifactRef, schema: z.ZodType<T>): Promise<T> {
  return schema.parse(JSON.parse((await store.get(ref)).toString('utf8')));
}

/** The artifact's lines parsed as JSON and checked. Throws ZodError with the line's index in its path. */
export async function getLines<T>(store: ArtifactStore, ref: ArtifactRef, schema: z.ZodType<T>): Promise<T[]> {
  const text = (await store.get(ref)).toString('utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => schema.parse(JSON.parse(line)));
}

/** Writes values as one JSON document a line. */
export function putLines(
  store: ArtifactStore,
  directory: string,
  name: string,
  values: readonly unknown[],
): Promise<ArtifactRef> {
  const body = values.map((v) => `${JSON.stringify(v)}\n`).join('');
  return store.put(directory, name, body, { mediaType: 'application/jsonl', records: values.length });
}

/** Writes a value as pretty-printed JSON. */
export function putJson(store: ArtifactStore, directory: string, name: string, value: unknown): Promise<ArtifactRef> {
  return store.put(directory, name, `${JSON.stringify(value, null, 2)}\n`, { mediaType: 'application/json' });
}
