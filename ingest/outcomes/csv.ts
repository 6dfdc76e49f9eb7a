import { splitLines } from '../../store';

/** Longest row, in bytes. A quote that is never closed takes no more, and what it took is named. */
const LONGEST_ROW = 1_000_000;

/** A row with the names of its header. `line`: its first one, from 1. */
interface CsvRow {
  fields: Record<string, string>;
  line: number;
}

/** A line that belongs to no row. */
interface CsvReject {
  reason: string;
  line: number;
}

/**
 * The rows of CSV after its header (RFC 4180). A value that begins with a quote may have separators and line feeds;
 * within others, a quote is only text. Missing values are empty.
 * csv-parse 7 was tried: after a row that is too long it gives no further one, and does not say how many it lost.
 * @throws the errors of `pieces`.
 */
export async function* csvRows(pieces: AsyncIterable<Buffer>, separator: string): AsyncGenerator<CsvRow | CsvReject> {
  let header: readonly string[] | null = null;
  let row = new Row(separator);
  let [start, line] = [1, 0];
  const rejects = (reason: string) =>
    Array.from({ length: line - start + 1 }, (_, place): CsvReject => ({ reason, line: start + place }));
  for await (const { bytes } of splitLines(pieces, { maxBytes: LONGEST_ROW })) {
    line++;
    if (row.isEmpty) start = line;
    const text = bytes?.toString('utf8') ?? null;
    const isWhole = text !== null && row.read(line === 1 ? text.replace(/^\ufeff/, '') : text);
    if (!isWhole && text !== null && row.length <= LONGEST_ROW) continue;
    const { values } = row;
    row = new Row(separator);
    if (!isWhole) yield* rejects(text === null ? `longer than ${LONGEST_ROW} bytes` : UNCLOSED);
    else if (values.every((value) => value === '')) continue;
    else if (header === null) header = values;
    else if (values.slice(header.length).some((value) => value !== ''))
      yield { reason: 'more values than the header has names', line: start };
    else yield { fields: Object.fromEntries(header.map((name, place) => [name, values[place] ?? ''])), line: start };
  }
  if (!row.isEmpty) yield* rejects(UNCLOSED);
}

const UNCLOSED = 'in a quoted value that does not end';

/** A row, which grows line by line. */
class Row {
  readonly values: string[] = [];
  /** Characters so far. */
  length = 0;
  isEmpty = true;
  /** What is read of a quoted value that is still open. */
  private quoted: string[] | null = null;

  constructor(private readonly separator: string) {}

  /** Adds a line. @returns whether the row ends with it. */
  read(line: string): boolean {
    this.isEmpty = false;
    this.length += line.length + 1;
    for (let at = 0; ;) {
      if (this.quoted === null && line[at] === '"') {
        this.quoted = [];
        at++;
      }
      let before = '';
      if (this.quoted !== null) {
        const end = closingQuote(line, at);
        this.quoted.push(line.slice(at, end ?? line.length));
        if (end === null) return false;
        before = this.quoted.join('\n').replaceAll('""', '"');
        this.quoted = null;
        at = end + 1;
      }
      const next = line.indexOf(this.separator, at);
      const value = before + line.slice(at, next === -1 ? line.length : next);
      this.values.push(next === -1 ? value.replace(/\r$/, '') : value);
      if (next === -1) return true;
      at = next + this.separator.length;
    }
  }
}

/** The place of the quote that ends a value; two in a row are one of the value. Null: it goes on in the next line. */
function closingQuote(line: string, from: number): number | null {
  for (let at = line.indexOf('"', from); at !== -1; at = line.indexOf('"', at + 2)) if (line[at + 1] !== '"') return at;
  return null;
}
