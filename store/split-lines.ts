/** A line of a file, or the rest after the last line feed. */
export interface RawLine {
  /** Its bytes, without the line feed unless `withFeed`; null if it is longer than the limit. */
  bytes: Buffer | null;
  /** Start of the line, in bytes. */
  start: number;
  /** Start of the next line. */
  end: number;
  /** False for the rest after the last line feed. */
  isComplete: boolean;
}

/**
 * Cuts a stream of bytes into lines. A line longer than `maxBytes` is dropped, so that memory stays limited for any
 * file.
 * @param from offset of the stream's first byte in its file.
 */
export async function* splitLines(
  parts: AsyncIterable<Buffer>,
  { from = 0, maxBytes = Infinity, withFeed = false }: { from?: number; maxBytes?: number; withFeed?: boolean } = {},
): AsyncGenerator<RawLine> {
  let start = from;
  let held: Buffer[] = [];
  let length = 0;
  const hold = (part: Buffer) => {
    length += part.length;
    if (length > maxBytes) held = [];
    else if (part.length > 0) held.push(part);
  };
  const line = (isComplete: boolean): RawLine => {
    const end = start + length + (isComplete && !withFeed ? 1 : 0);
    const whole: RawLine = { bytes: length > maxBytes ? null : joined(held), start, end, isComplete };
    start = end;
    held = [];
    length = 0;
    return whole;
  };
  for await (const part of parts) {
    let at = 0;
    for (let feed = part.indexOf(10); feed !== -1; feed = part.indexOf(10, at)) {
      hold(part.subarray(at, withFeed ? feed + 1 : feed));
      at = feed + 1;
      yield line(true);
    }
    hold(part.subarray(at));
  }
  if (length > 0) yield line(false);
}

/** Joins the parts into one buffer. A single part is not copied. */
const joined = (parts: readonly Buffer[]): Buffer => (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
