/** A line that could not be read. */
export interface DamagedLine {
  /** Number of the line, counted from 1 where the reading began. */
  line: number;
  /** Offset of its first byte in the file. */
  start: number;
  /** Offset after its line feed. */
  end: number;
  /** The fault, as half a sentence. */
  reason: string;
}

/** Number of lines that are recorded one by one. For a file with more damaged lines, the first ones are enough. */
const MOST_REMEMBERED = 20;

/** The lines of a file that were set aside while it was read. */
export class DamagedLines {
  /** Total number of damaged lines. */
  count = 0;
  /** The first 20. */
  readonly first: DamagedLine[] = [];

  /** @param key key of the file in the store. */
  constructor(readonly key: string) {}

  /** Sets a line aside. */
  add(line: DamagedLine): void {
    this.count++;
    if (this.first.length < MOST_REMEMBERED) this.first.push(line);
  }

  /** One sentence that names the file and the first lines; empty if all lines could be read. */
  describe(): string {
    if (this.count === 0) return '';
    const named = this.first.slice(0, 3).map(({ line, start, end, reason }) => {
      return `line ${line} (bytes ${start} to ${end}) ${reason}`;
    });
    const more = this.count > named.length ? `; and ${this.count - named.length} more` : '';
    const lines = this.count === 1 ? '1 line was' : `${this.count} lines were`;
    return `${lines} left out of ${this.key}: ${named.join('; ')}${more}.`;
  }
}
