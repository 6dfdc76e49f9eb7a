import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { endOf } from '../contracts/clean-text';

/** Why a channel was given up: it contained something other than lines of JSON. */
export type ChannelFault = 'line-too-long' | 'not-utf8';

const NEWLINE = 0x0a;

/**
 * Cuts a stream into lines of at most `lineBytes` bytes. After a fault it reads nothing more.
 * @param onLine called with each line without its newline.
 * @param onFault called at most once.
 */
export function readLines(
  stream: Readable,
  lineBytes: number,
  onLine: (line: string) => void,
  onFault: (fault: ChannelFault) => void,
): void {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let parts: Buffer[] = [];
  let size = 0;
  let failed = false;
  const fail = (fault: ChannelFault): void => {
    failed = true;
    parts = [];
    onFault(fault);
  };
  stream.on('data', (chunk: Buffer) => {
    let start = 0;
    while (!failed) {
      const end = chunk.indexOf(NEWLINE, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      size += part.length;
      if (size > lineBytes) return fail('line-too-long');
      if (part.length > 0) parts.push(part);
      if (end === -1) return;
      const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      parts = [];
      size = 0;
      start = end + 1;
      let text: string;
      try {
        text = decoder.decode(line);
      } catch {
        return fail('not-utf8');
      }
      onLine(text);
    }
  });
}

/** The JSON of a line; undefined where it is none, or nests deeper than `depth`. */
export function parseLine(line: string, depth: number): unknown {
  let document: unknown;
  try {
    document = JSON.parse(line);
  } catch {
    return undefined;
  }
  return nestsDeeperThan(document, depth) ? undefined : document;
}

/** Whether parsed JSON nests deeper than `limit` lists and objects: readers further on walk values recursively. */
function nestsDeeperThan(value: unknown, limit: number): boolean {
  const children = (parent: unknown): unknown[] =>
    typeof parent === 'object' && parent !== null ? Object.values(parent) : [];
  let level = [value];
  for (let depth = 0; depth < limit; depth++) level = level.flatMap(children);
  return level.some((deepest) => typeof deepest === 'object' && deepest !== null);
}

/** Counts the bytes of a stream, keeps its last part, and calls `onFlood` once when it exceeds a limit. */
export class BoundedTail {
  private tail = '';
  private bytes = 0;
  private readonly decoder = new StringDecoder('utf8');

  constructor(
    stream: Readable,
    private readonly keepBytes: number,
    capBytes: number,
    onFlood: () => void,
  ) {
    stream.on('data', (chunk: Buffer) => {
      const before = this.bytes;
      this.bytes += chunk.length;
      this.tail += this.decoder.write(chunk);
      if (this.tail.length > 2 * keepBytes) this.tail = endOf(this.tail, keepBytes);
      if (before <= capBytes && this.bytes > capBytes) onFlood();
    });
  }

  /** The last `keepBytes` characters; fewer, where one would be cut. */
  text(): string {
    return endOf(this.tail, this.keepBytes);
  }
}
