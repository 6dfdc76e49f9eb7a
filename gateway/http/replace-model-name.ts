/**
 * Replaces the top-level member `model` in the bytes of a JSON object and leaves every other byte alone: no field is
 * lost, no number loses digits, and 100 KB of messages are not written again.
 */
import type { ReceivedBody } from './read-body';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const KEY = '"model"';
/** What is read in any case. */
const NEAR_BYTES = 4_096;

/** Index just after the string that begins at `start`; the text is known to be JSON. */
function endOfString(text: Buffer, start: number): number {
  for (let end = text.indexOf(QUOTE, start + 1); end !== -1; end = text.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length;
}

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function skipSpace(text: Buffer, from: number): number {
  let at = from;
  while (isSpace(text[at])) at++;
  return at;
}

interface Range {
  start: number;
  end: number;
}

/**
 * Range of the string that is the value of the key ending at `end`; null when that string is no key, or its value no
 * string.
 */
function valueRange(text: Buffer, end: number): Range | null {
  const colon = skipSpace(text, end);
  const start = skipSpace(text, colon + 1);
  return text[colon] === 0x3a && text[start] === QUOTE ? { start, end: endOfString(text, start) } : null;
}

/** Values of the top-level members spelled `"model"` that begin before `until`. */
function modelRanges(text: Buffer, until: number): Range[] {
  const found: Range[] = [];
  let depth = 0;
  for (let at = 0; at < until; at++) {
    const byte = text[at];
    if (byte === QUOTE) {
      const end = endOfString(text, at);
      const range =
        depth === 1 && end - at === KEY.length && text.toString('latin1', at, end) === KEY
          ? valueRange(text, end)
          : null;
      if (range !== null) found.push(range);
      at = (range?.end ?? end) - 1;
    } else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return found;
}

/**
 * As modelRanges for the whole text. A lone `"model"` near one end, the usual case, is placed by reading the text on
 * that side of it only.
 */
function allModelRanges(text: Buffer): Range[] {
  const at = text.indexOf(KEY);
  if (at === -1) return [];
  // After a backslash it is the end of a longer string.
  const isLone = text[at - 1] !== BACKSLASH && text.indexOf(KEY, at + KEY.length) === -1;
  if (isLone && at <= NEAR_BYTES) return modelRanges(text, at + 1);
  if (isLone && text.length - at <= NEAR_BYTES) {
    const range = valueRange(text, at + KEY.length);
    // The rest is a whole object with a brace before it only if it began at the top level.
    if (range !== null && isObject(`{${text.toString('utf8', at)}`)) return [range];
  }
  return modelRanges(text, text.length);
}

function isObject(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The body of a request, whose model name can be exchanged. */
export class RequestBody {
  /** Where the name stands; null: it is named twice or in escapes. */
  private name: Range | null;
  private given = false;

  /** `parsed` is the same body parsed. */
  constructor(
    private readonly body: ReceivedBody,
    private readonly parsed: Record<string, unknown>,
  ) {
    this.name = plainName(body.bytes, parsed);
  }

  get length(): number {
    return this.body.bytes.length;
  }

  /**
   * The bytes with this model name. The first call changes them where they lie, when there is room: a second copy of
   * 100 KB would bring the next garbage collection nearer. Later calls copy, because a server that failed may still be
   * reading. A body that names the model twice or in escapes is written anew from `parsed`, so that no server can read
   * another name from it than the gateway did.
   */
  withModel(model: string): Buffer {
    if (this.name === null) return Buffer.from(JSON.stringify({ ...this.parsed, model }));
    const { bytes, spare } = this.body;
    const { start, end } = this.name;
    const name = Buffer.from(JSON.stringify(model));
    const growth = name.length - (end - start);
    if (this.given || growth > spare) return Buffer.concat([bytes.subarray(0, start), name, bytes.subarray(end)]);
    this.given = true;
    const changed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length + growth);
    const rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length + Math.max(growth, 0));
    rest.copyWithin(end + growth, end, bytes.length);
    name.copy(changed, start);
    this.body.bytes = changed;
    this.body.spare = spare - growth;
    this.name = { start, end: end + growth };
    return changed;
  }
}

function plainName(bytes: Buffer, parsed: Record<string, unknown>): Range | null {
  const [range, ...others] = allModelRanges(bytes);
  if (range === undefined || others.length > 0) return null;
  // One plain spelling beside an escaped one, which may come last and would then win.
  return JSON.parse(bytes.toString('utf8', range.start, range.end)) === parsed['model'] ? range : null;
}
