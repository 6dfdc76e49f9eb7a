/** Smallest capacity of the buffer into which chunks are copied, in bytes. */
const FIRST_BYTES = 16_384;

/**
 * Bytes that arrive in chunks. A single chunk is not copied. Further chunks are copied into a buffer that doubles when
 * it is full. So many small chunks need at most twice the memory of their bytes, or 16 KB. The time is linear in their
 * size.
 */
export class GrowingBuffer {
  private buffer: Buffer | null = null;
  private owned = false;
  /** Bytes so far. */
  length = 0;

  /** Memory of the buffer, in bytes. */
  get held(): number {
    return this.buffer?.length ?? 0;
  }

  /** Adds a chunk. The chunk is kept: do not write to it afterwards. */
  append(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (this.buffer === null) this.buffer = chunk;
    else {
      if (!this.owned || length > this.buffer.length) this.grow(Math.max(length, 2 * this.buffer.length, FIRST_BYTES));
      chunk.copy(this.buffer, this.length);
    }
    this.length = length;
  }

  /** The bytes from `start`. They change with the next call. */
  from(start: number): Buffer {
    return this.buffer === null ? Buffer.alloc(0) : this.buffer.subarray(start, this.length);
  }

  /** All bytes. Afterwards the buffer is empty. */
  take(): Buffer {
    const bytes = this.from(0);
    this.buffer = null;
    this.owned = false;
    this.length = 0;
    return bytes;
  }

  private grow(capacity: number): void {
    const grown = Buffer.allocUnsafeSlow(capacity);
    grown.set(this.from(0));
    this.buffer = grown;
    this.owned = true;
  }
}
