import { isUtf8 } from 'node:buffer';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { z } from 'zod';
import type { Segment, SegmentLine, SegmentReading } from './artifact-store';
import { DamagedLines } from './damaged-lines';
import { onDisk } from './file-errors';
import { makeFolders } from './folders';
import { isMissing, piecesOf } from './read-files';
import { splitLines } from './split-lines';

/** Longest line. A file without line feeds must not fill the memory of its reader. */
const MAX_LINE_BYTES = 64 << 20;

const LINE_FEED = 10;

/** Lines that are written together. */
interface Batch {
  lines: string[];
  written: Promise<void>;
}

/** A segment in a local file. */
export class LocalSegment implements Segment {
  private file: Promise<FileHandle> | null = null;
  private queue: Promise<unknown> = Promise.resolve();
  /** Lines that wait for the previous write. */
  private batch: Batch | null = null;
  /** Bytes that a failed append may have left at the end of the file. */
  private halfWritten: Buffer | null = null;

  constructor(
    private readonly key: string,
    private readonly path: string,
  ) {}

  read<T>(schema: z.ZodType<T>, from = 0, to = Infinity): SegmentReading<T> {
    const reading = { damaged: new DamagedLines(this.key), end: from };
    return Object.assign(reading, { [Symbol.asyncIterator]: () => this.readLines(schema, from, to, reading) });
  }

  append(value: unknown): Promise<void> {
    const line = `${JSON.stringify(value)}\n`;
    if (Buffer.byteLength(line) > MAX_LINE_BYTES)
      return Promise.reject(
        new RangeError(`A line of ${Buffer.byteLength(line)} bytes is too long for ${this.key}: 64 MiB is the most.`),
      );
    // Lines that arrive during a write go into the next one together, so that a hundred answers a second cost only a
    // few writes.
    if (this.batch) {
      this.batch.lines.push(line);
      return this.batch.written;
    }
    const batch: Batch = { lines: [line], written: Promise.resolve() };
    batch.written = this.queue.then(() => {
      this.batch = null;
      return onDisk(this.path, this.write(Buffer.from(batch.lines.join(''))));
    });
    this.batch = batch;
    // A failed append must not block later ones. Its own callers see the error.
    this.queue = batch.written.catch(() => undefined);
    return batch.written;
  }

  async close(): Promise<void> {
    await this.queue;
    const file = await this.file;
    this.file = null;
    await file?.close();
  }

  private async *readLines<T>(
    schema: z.ZodType<T>,
    from: number,
    to: number,
    reading: { damaged: DamagedLines; end: number },
  ): AsyncGenerator<SegmentLine<T>> {
    await this.queue;
    let number = 0;
    try {
      const parts = await piecesOf(this.path, from, to);
      for await (const { bytes, start, end, isComplete } of splitLines(parts, { from, maxBytes: MAX_LINE_BYTES })) {
        number++;
        if (!isComplete) break;
        reading.end = end;
        if (bytes?.length === 0) continue;
        const read = readLine(bytes, schema);
        if ('reason' in read) reading.damaged.add({ line: number, start, end, reason: read.reason });
        else yield { value: read.value, start, end };
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  private async write(data: Buffer): Promise<void> {
    const file = await this.open();
    await this.removeHalfWritten(file);
    let written = 0;
    try {
      while (written < data.length) written += (await file.write(data, written)).bytesWritten;
    } catch (error) {
      this.halfWritten = data.subarray(0, written);
      // A file can be truncated even on a full disk. If even that fails, the next append tries again.
      await this.removeHalfWritten(file).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Cuts off the bytes that a failed append left, so that the next line does not continue half a line. If the file ends
   * with other bytes, another writer has written. Then nothing is cut, and the next record starts on a new line.
   */
  private async removeHalfWritten(file: FileHandle): Promise<void> {
    if (this.halfWritten === null) return;
    const { size } = await file.stat();
    const end = Buffer.alloc(Math.min(this.halfWritten.length, size));
    await file.read(end, 0, end.length, size - end.length);
    if (end.equals(this.halfWritten)) await file.truncate(size - end.length);
    else if (end.at(-1) !== LINE_FEED) await file.write('\n');
    this.halfWritten = null;
  }

  private open(): Promise<FileHandle> {
    if (this.file === null) {
      const opened = openForAppend(this.path);
      this.file = opened;
      // If a segment could not be opened, because the disk was full, the next append opens it again.
      opened.catch(() => (this.file = null));
    }
    return this.file;
  }
}

/** The document in a line, or the line's fault. If `bytes` is null, the line is too long. */
function readLine<T>(bytes: Buffer | null, schema: z.ZodType<T>): { value: T } | { reason: string } {
  if (bytes === null) return { reason: 'is longer than 64 MiB' };
  // Bytes that are not UTF-8 would silently be replaced.
  if (!isUtf8(bytes)) return { reason: 'is not UTF-8 text' };
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    return { reason: 'is not JSON' };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { value: parsed.data };
  const [issue] = parsed.error.issues;
  return { reason: `does not have its form (${issue?.path.join('.') || 'line'}: ${issue?.message})` };
}

/**
 * Opens the file and cuts off a torn last line, so that the next record starts on its own line. Reading does not cut it
 * off, because a writer may be about to finish it.
 */
async function openForAppend(path: string): Promise<FileHandle> {
  await makeFolders(dirname(path));
  const file = await open(path, 'a+');
  try {
    const { size } = await file.stat();
    const end = await endOfLastLine(file, size);
    if (end < size) await file.truncate(end);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Offset after the last line feed. It reads backwards, because the file may be large but the torn line is short. */
async function endOfLastLine(file: FileHandle, size: number): Promise<number> {
  const block = Buffer.alloc(1 << 16);
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - block.length);
    const { bytesRead } = await file.read(block, 0, end - start, start);
    const feed = block.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
    if (feed !== -1) return start + feed + 1;
    end = start;
  }
  return 0;
}
