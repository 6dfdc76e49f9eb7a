import { textLines } from '../../contracts/text-lines';

/** Longest row, in characters: a quote that is never closed must not take the rest of a file. */
const LONGEST_ROW = 1_000_000;

/** A row with the names of its header. */
export interface CsvRow {
  fields: Record<string, string>;
  /** Its first line, from 1. */
  line: number;
}

/** The rows of CSV after its header (RFC 4180). A quoted value may have line feeds. Missing values are empty. */
export async function* csvRows(pieces: AsyncIterable<Buffer>, separator: string): AsyncGenerator<CsvRow> {
  let header: string[] | null = null;
  let [row, start, line] = ['', 1, 0];
  for await (const text of textLines(pieces as unknown as NodeJS.ReadableStream)) {
    line++;
    if (row === '') start = line;
    row = row === '' ? text : `${row}\n${text}`;
    const isOpen = (row.match(/"/g)?.length ?? 0) % 2 === 1;
    if (isOpen && row.length < LONGEST_ROW) continue;
    const values = valuesOf(row.replace(/^\ufeff/, '').replace(/\r$/, ''), separator);
    row = '';
    if (values.every((value) => value === '')) continue;
    if (header === null) header = values;
    else yield { fields: Object.fromEntries(header.map((name, place) => [name, values[place] ?? ''])), line: start };
  }
}

function valuesOf(row: string, separator: string): string[] {
  const values: string[] = [];
  for (let at = 0; at <= row.length;) {
    const quoted = row[at] === '"' ? /^"((?:[^"]|"")*)"?/.exec(row.slice(at)) : null;
    const from = at + (quoted?.[0].length ?? 0);
    const next = row.indexOf(separator, from);
    const end = next === -1 ? row.length : next;
    const plain = row.slice(from, end);
    values.push(quoted === null ? plain : (quoted[1] ?? '').replaceAll('""', '"') + plain);
    at = end + 1;
  }
  return values;
}
