import { isUtf8 } from 'node:buffer';
import { splitLines } from '../../store';
import { jsonParts, LISTS, type Part } from './json-elements';
import { inputPieces } from './pieces';

/** Longest line or element, in bytes. */
const LONGEST_RECORD = 32 * 2 ** 20;
/** A document's first line in another form than JSON ends so. */
const OPENS = /[[{,]\s*$/;
/** The first line of a document whose layout is for people. */
const OPENS_ALONE = /^[\s[{]*$/;
/** Longest member of a document that its elements are read with, in bytes. */
const LONGEST_HEAD = 2 ** 20;

/** A JSON value of a file. */
export interface InputRecord {
  value: unknown;
  /** Members of the document that stand before the list whose element it is. */
  head: Readonly<Record<string, unknown>>;
  line: number;
}

/** A line or an element that is no JSON. */
export interface InputReject {
  reason: string;
  line: number;
  /** Empty: it is too long. */
  text: Buffer;
}

/**
 * The JSON values of a file: lines of JSON Lines, or elements of a document's lists. One is in memory at a time.
 * @throws as `inputPieces`, after the values that could be read.
 */
export async function* readRecords(path: string): AsyncGenerator<InputRecord | InputReject> {
  const pieces = inputPieces(path);
  const begun: Buffer[] = [];
  let isDocument = false;
  // The first two lines tell which of the two it is.
  const first = new FirstLines();
  for (let length = 0; ;) {
    const next = await pieces.next();
    if (next.done !== true) {
      begun.push(next.value);
      length += next.value.length;
      first.read(next.value);
    }
    const isEnough = next.done === true || length > LONGEST_RECORD;
    if (!isEnough && first.lines.length < 2) continue;
    isDocument = length > LONGEST_RECORD && first.lines.length === 0 ? true : opensDocument(first.lines);
    break;
  }
  async function* all() {
    let isFirst = true;
    for (const piece of begun.splice(0)) {
      yield isFirst ? withoutMark(piece) : piece;
      isFirst = false;
    }
    yield* pieces;
  }
  yield* isDocument ? readDocument(all()) : readLines(all());
}

const withoutMark = (piece: Buffer): Buffer =>
  piece[0] === 0xef && piece[1] === 0xbb && piece[2] === 0xbf ? piece.subarray(3) : piece;

const isBlank = (byte: number | undefined): boolean => byte !== undefined && (byte <= 32 || byte >= 0x80);

const firstByte = (text: Buffer): number => text.findIndex((byte) => !isBlank(byte));

/** The first two lines that end in a line feed and have characters, from where these begin. */
class FirstLines {
  readonly lines: Buffer[] = [];
  /** What is read of a line that goes on. */
  private begun: Buffer[] = [];

  /** Reads on. Each byte is read once, as a file may begin with much white space. */
  read(piece: Buffer): void {
    for (let from = 0; this.lines.length < 2;) {
      if (this.begun.length === 0) while (isBlank(piece[from])) from++;
      if (from >= piece.length) return;
      const feed = piece.indexOf(10, from);
      this.begun.push(piece.subarray(from, feed === -1 ? piece.length : feed));
      if (feed === -1) return;
      this.lines.push(Buffer.concat(this.begun));
      this.begun = [];
      from = feed + 1;
    }
  }
}

/** Whether a document begins so. A line of JSON Lines that is cut may end like one, but the next is a value again. */
function opensDocument([first, second]: readonly Buffer[]): boolean {
  if (first === undefined || !OPENS.test(first.toString('utf8')) || !(parsed(first) instanceof Error)) return false;
  return OPENS_ALONE.test(first.toString('utf8')) || second === undefined || parsed(second) instanceof Error;
}

function parsed(text: Buffer): unknown {
  if (!isUtf8(text)) return new Error('not UTF-8');
  try {
    return JSON.parse(text.toString('utf8')) as unknown;
  } catch (error) {
    return new Error(error instanceof RangeError ? 'nested too deeply' : 'not JSON');
  }
}

async function* readLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<InputRecord | InputReject> {
  let line = 0;
  for await (const { bytes } of splitLines(pieces, { maxBytes: LONGEST_RECORD })) {
    line++;
    if (bytes !== null && firstByte(bytes) === -1 && isUtf8(bytes)) continue;
    const value = bytes === null ? tooLong : parsed(bytes);
    if (value instanceof Error) yield { reason: value.message, line, text: bytes ?? Buffer.alloc(0) };
    else yield* elementsOf(value, line);
  }
}

const tooLong = new Error(`longer than ${LONGEST_RECORD / 2 ** 20} MiB`);

/** A whole value, as a document's elements are read one by one. */
function* elementsOf(value: unknown, line: number): Generator<InputRecord> {
  if (Array.isArray(value)) {
    for (const element of value as unknown[]) yield { value: element, head: {}, line };
    return;
  }
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const lists = members.filter(([name, list]) => LISTS.has(name) && Array.isArray(list)) as [string, unknown[]][];
  if (lists.length === 0 || members.some(([name]) => name === 'messages' || name === 'steps')) {
    yield { value, head: {}, line };
    return;
  }
  const head = Object.fromEntries(members.filter(([name]) => !LISTS.has(name)));
  for (const [name, list] of lists) for (const element of list) yield { value: asElement(name, element), head, line };
}

/** An element of OTLP's list is a message by itself when it stands in that list. */
const asElement = (name: string | null, value: unknown): unknown =>
  name === 'resourceSpans' ? { resourceSpans: [value] } : value;

async function* readDocument(pieces: AsyncIterable<Buffer>): AsyncGenerator<InputRecord | InputReject> {
  const head = new Map<string, Part>();
  let small: Record<string, unknown> = {};
  let hasElements = false;
  for await (const part of jsonParts(pieces, LONGEST_RECORD)) {
    if (part === null) {
      if (!hasElements && head.size > 0) yield wholeDocument([...head.values()]);
      head.clear();
      small = {};
      hasElements = false;
      continue;
    }
    const { member, isElement, text, line } = part;
    if (!isElement) {
      head.set(member ?? '', part);
      if (text !== null && text.length <= LONGEST_HEAD && member !== null && member !== '__proto__') {
        const value = parsed(text);
        if (!(value instanceof Error)) small[member] = value;
      }
      continue;
    }
    hasElements = true;
    const value = text === null ? tooLong : parsed(text);
    if (value instanceof Error) yield { reason: value.message, line, text: text ?? Buffer.alloc(0) };
    else yield { value: asElement(member, value), head: small, line };
  }
  if (!hasElements && head.size > 0) yield wholeDocument([...head.values()]);
}

/** A document without lists is one value. */
function wholeDocument(parts: readonly Part[]): InputRecord | InputReject {
  const line = parts[0]?.line ?? 1;
  const length = parts.reduce((sum, { text }) => sum + (text?.length ?? Infinity), 0);
  if (length > LONGEST_RECORD) return { reason: tooLong.message, line, text: Buffer.alloc(0) };
  const members = parts.map(
    ({ member, text }) => `${JSON.stringify(member ?? '')}:${(text as Buffer).toString('utf8')}`,
  );
  const whole = Buffer.from(`{${members.join(',')}}`);
  const value = parsed(whole);
  return value instanceof Error ? { reason: value.message, line, text: whole } : { value, head: {}, line };
}
