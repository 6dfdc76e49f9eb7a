import { closeSync, existsSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from './fragment';

/** Most characters that wait in memory before they are written to files. */
const MOST_WAITING = 2_000_000;
/** Number of parts, each with a file. */
const PARTS = 256;
/** Most bytes of the values of one key, which are in memory together. */
const MOST_OF_KEY = 256 * 2 ** 20;
/** Bytes of a file that are searched for lines at once. */
const PIECE = 2 ** 20;

/** Where a value is: its JSON, or its place in the file of a part. */
type Place = string | { from: number; length: number };

/**
 * Gathers values by their keys, however many there are: those of one key come together again, although they were
 * scattered over files. What does not fit into memory is written to a folder, a line `key TAB value` for each value.
 */
export class Spool<T> {
  private readonly waiting = Array.from({ length: PARTS }, (): string[] => []);
  private characters = 0;

  /** @param name of its files in the folder, which others may share. */
  constructor(
    private readonly folder: string,
    private readonly name: string,
    private readonly mostWaiting = MOST_WAITING,
    private readonly mostOfKey = MOST_OF_KEY,
  ) {}

  /** Adds the JSON of a value. @throws RangeError for a value that is nested too deeply; errors of the disk. */
  add(key: string, value: T): void {
    // JSON has no tab and no line feed outside of a text, and writes those of texts as escapes.
    const line = `${JSON.stringify(key)}\t${JSON.stringify(value)}`;
    this.waiting[Number.parseInt(sha256(key).slice(0, 2), 16)]?.push(line);
    this.characters += line.length;
    if (this.characters > this.mostWaiting) this.write();
  }

  /** The values of each key in the order in which they were added, and how many more there are than fit in memory. */
  *groups(): Generator<[key: string, values: T[], more: number]> {
    for (let part = 0; part < PARTS; part++) {
      const path = this.pathOf(part);
      const file = existsSync(path) ? openSync(path, 'r') : null;
      try {
        for (const [key, places] of this.placesIn(file, part))
          yield [JSON.parse(key) as string, ...this.read(file, places)];
      } finally {
        if (file !== null) closeSync(file);
      }
    }
  }

  /** Where the values of each key are: first those of the file, then those that wait. */
  private placesIn(file: number | null, part: number): Map<string, Place[]> {
    const places = new Map<string, Place[]>();
    const note = (key: string, place: Place): void => {
      const known = places.get(key);
      if (known === undefined) places.set(key, [place]);
      else known.push(place);
    };
    if (file !== null) for (const { key, ...place } of linesOf(file)) note(key, place);
    for (const line of this.waiting[part] ?? []) {
      const tab = line.indexOf('\t');
      note(line.slice(0, tab), line.slice(tab + 1));
    }
    return places;
  }

  private read(file: number | null, places: readonly Place[]): [values: T[], more: number] {
    const values: T[] = [];
    let bytes = 0;
    for (const place of places) {
      bytes += place.length;
      if (bytes > this.mostOfKey) return [values, places.length - values.length];
      const text =
        typeof place === 'string' ? place : bytesAt(file as number, place.from, place.length).toString('utf8');
      values.push(JSON.parse(text) as T);
    }
    return [values, 0];
  }

  private write(): void {
    this.waiting.forEach((lines, part) => {
      if (lines.length === 0) return;
      const file = openSync(this.pathOf(part), 'a', 0o600);
      for (const line of lines) writeAll(file, Buffer.from(`${line}\n`));
      closeSync(file);
      lines.length = 0;
    });
    this.characters = 0;
  }

  private pathOf(part: number): string {
    return join(this.folder, `${this.name}-${part}`);
  }
}

/** The keys of a file's lines, and the places of their values. */
function* linesOf(file: number): Generator<{ key: string; from: number; length: number }> {
  const { size } = fstatSync(file);
  let start = 0;
  let key: string | null = null;
  let held = Buffer.alloc(0);
  for (let at = 0; at < size; at += PIECE) {
    const piece = bytesAt(file, at, Math.min(PIECE, size - at));
    for (let from = 0; from < piece.length;) {
      if (key === null) {
        const tab = piece.indexOf(9, from);
        held = Buffer.concat([held, piece.subarray(from, tab === -1 ? piece.length : tab)]);
        if (tab === -1) break;
        key = held.toString('utf8');
        held = Buffer.alloc(0);
        start = at + tab + 1;
        from = tab + 1;
      }
      const feed = piece.indexOf(10, from);
      if (feed === -1) break;
      yield { key, from: start, length: at + feed - start };
      key = null;
      from = feed + 1;
    }
  }
}

function bytesAt(file: number, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const count = readSync(file, bytes, read, length - read, from + read);
    if (count === 0) break;
    read += count;
  }
  return bytes.subarray(0, read);
}

function writeAll(file: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written);
}
