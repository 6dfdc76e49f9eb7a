import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from './fragment';

/** Most characters that wait in memory before they are written to files. */
const MOST_WAITING = 8_000_000;
/** Number of parts: a part of all values must fit into memory. */
const PARTS = 256;

/**
 * Gathers values by their keys, however many there are: those of one key come together again, although they were
 * scattered over files. What does not fit into memory is written to a folder.
 */
export class Spool<T> {
  private readonly waiting = Array.from({ length: PARTS }, (): string[] => []);
  private characters = 0;
  private readonly written = new Set<number>();

  /** @param name of its files in the folder, which others may share. */
  constructor(
    private readonly folder: string,
    private readonly name: string,
  ) {}

  /** Adds the JSON of a value. @throws RangeError for a value that is nested too deeply; errors of the disk. */
  add(key: string, value: T): void {
    const text = JSON.stringify([key, value]);
    this.waiting[Number.parseInt(sha256(key).slice(0, 2), 16)]?.push(text);
    this.characters += text.length;
    if (this.characters > MOST_WAITING) this.write();
  }

  /** The values of each key, in the order in which they were added. */
  *groups(): Generator<[key: string, values: T[]]> {
    for (let part = 0; part < PARTS; part++) {
      const groups = new Map<string, T[]>();
      for (const line of this.linesOf(part)) {
        const [key, value] = JSON.parse(line) as [string, T];
        const group = groups.get(key);
        if (group === undefined) groups.set(key, [value]);
        else group.push(value);
      }
      yield* groups;
    }
  }

  private linesOf(part: number): string[] {
    const waiting = this.waiting[part] ?? [];
    if (!this.written.has(part)) return waiting;
    return [...readFileSync(this.pathOf(part), 'utf8').split('\n').slice(0, -1), ...waiting];
  }

  private write(): void {
    this.waiting.forEach((lines, part) => {
      if (lines.length === 0) return;
      const file = openSync(this.pathOf(part), 'a', 0o600);
      writeSync(file, `${lines.join('\n')}\n`);
      closeSync(file);
      this.written.add(part);
      lines.length = 0;
    });
    this.characters = 0;
  }

  private pathOf(part: number): string {
    return join(this.folder, `${this.name}-${part}`);
  }
}
