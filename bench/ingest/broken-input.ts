import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** All lines of the JSON Lines below a folder. */
export function linesBelow(folder: string): Buffer[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => Buffer.from(line));
}

const below = (random: () => number, most: number): number => Math.floor(random() * most);

/** A line with some bytes that are others, are gone, or are there twice. It stays one line. */
export function mutated(line: Buffer, random: () => number): Buffer {
  let bytes = Buffer.from(line);
  for (let change = 1 + below(random, 4); change > 0; change--) {
    const [at, length] = [below(random, bytes.length), 1 + below(random, 40)];
    const kind = below(random, 3);
    if (kind === 0) bytes[at] = below(random, 256);
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    else bytes = Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
  }
  return Buffer.from(bytes.map((byte) => (byte === 10 ? 32 : byte)));
}

/** Writes a folder of files that are cut, packed and cut, noise, deep, or empty. */
export function writeBroken(folder: string, files: number, lines: readonly Buffer[], random: () => number): void {
  mkdirSync(folder, { recursive: true });
  for (let number = 0; number < files; number++) {
    const line = lines[below(random, lines.length)] as Buffer;
    const cut = 1 + below(random, line.length - 1);
    const noise = Buffer.from(Array.from({ length: 2_000 }, () => below(random, 256)));
    const packed = gzipSync(Buffer.concat(lines.slice(0, 20)));
    const contents: [name: string, bytes: Buffer][] = [
      ['cut.jsonl', line.subarray(0, cut)],
      ['cut.json', Buffer.from(JSON.stringify(JSON.parse(line.toString()), null, 2)).subarray(0, cut)],
      ['cut.jsonl.gz', packed.subarray(0, 20 + below(random, packed.length - 20))],
      ['noise.jsonl', noise],
      ['noise.jsonl.gz', Buffer.concat([Buffer.from([0x1f, 0x8b]), noise])],
      ['deep.json', Buffer.from('['.repeat(200_000))],
      ['deep-member.jsonl', Buffer.from(`{"messages":${'['.repeat(5_000)}${']'.repeat(5_000)}}`)],
      ['empty.json', Buffer.alloc(0)],
    ];
    const [name, bytes] = contents[number % contents.length] as [string, Buffer];
    writeFileSync(join(folder, `${number}-${name}`), bytes);
  }
}
