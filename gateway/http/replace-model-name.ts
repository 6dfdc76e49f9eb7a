/**
 * Replaces the value of the top-level member `model` in the bytes of a JSON object, and keeps every other byte. So no
 * field is lost, no number loses digits, and 100 KB of messages are not serialised again.
 */
import { ApiError } from './errors';
import type { ReceivedBody } from './read-body';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const KEY = '"model"';
/** The key without its first quote, because texts have many quotes. */
const RARE_IN_KEY = 'model"';
/** The letters of `model` may be written as escapes, which all begin like this. */
const ESCAPE = '\\u006';
/** The same beginning without the backslash. Searching 100 KB of prose for it takes 10 us instead of 27. */
const RARE_IN_ESCAPE = 'u006';
/** Longest spelling of `"model"`: every letter as an escape. */
const LONGEST_KEY = 2 + 5 * 6;
/** If `"model"` is this near to the start or the end, only the bytes in between are scanned. */
const NEAR_BYTES = 4_096;

/** Index just after the string that begins at `start`. The text must be valid JSON. */
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

/** A member whose value is not a string. */
const NO_STRING: Range = { start: -1, end: -1 };

/** Range of the value of the key that ends at `end`, or NO_STRING; null if there is no key. */
function valueRange(text: Buffer, end: number): Range | null {
  const colon = skipSpace(text, end);
  if (text[colon] !== 0x3a) return null;
  const start = skipSpace(text, colon + 1);
  return text[start] === QUOTE ? { start, end: endOfString(text, start) } : NO_STRING;
}

/** Whether a string is `model`, in any spelling. */
function isModelKey(text: Buffer, start: number, end: number): boolean {
  const length = end - start;
  if (length < KEY.length || length > LONGEST_KEY) return false;
  const spelling = text.toString('latin1', start, end);
  return spelling === KEY || (spelling.includes(ESCAPE) && JSON.parse(text.toString('utf8', start, end)) === 'model');
}

/** Ranges of the values of top-level members called `model`, in any spelling, whose key begins before `until`. */
function modelRanges(text: Buffer, until: number): Range[] {
  const found: Range[] = [];
  let depth = 0;
  for (let at = 0; at < until; at++) {
    const byte = text[at];
    if (byte === QUOTE) {
      const end = endOfString(text, at);
      const range = depth === 1 && isModelKey(text, at, end) ? valueRange(text, end) : null;
      if (range !== null) found.push(range);
      at = Math.max(range?.end ?? end, end) - 1;
    } else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return found;
}

/** Start of the next `"model"`; -1 if there is none. */
function nextKey(text: Buffer, from: number): number {
  let at = text.indexOf(RARE_IN_KEY, from);
  while (at !== -1 && text[at - 1] !== QUOTE) at = text.indexOf(RARE_IN_KEY, at + 1);
  return at === -1 ? -1 : at - 1;
}

/**
 * The same for the whole text. In the usual case, with a single `"model"` near one end, it reads only the text between
 * that end and the key.
 */
function allModelRanges(text: Buffer): Range[] {
  const at = nextKey(text, 0);
  if (at === -1) return [];
  if (text.includes(RARE_IN_ESCAPE)) return modelRanges(text, text.length);
  // After a backslash, the first quote belongs to a longer string.
  const isLone = text[at - 1] !== BACKSLASH && nextKey(text, at + KEY.length) === -1;
  if (isLone && at <= NEAR_BYTES) return modelRanges(text, at + 1);
  if (isLone && text.length - at <= NEAR_BYTES) {
    const range = valueRange(text, at + KEY.length);
    // A brace and the rest of the text form a complete object only if the key is at the top level.
    if (range !== null && range !== NO_STRING && isObject(`{${text.toString('utf8', at)}`)) return [range];
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

/** The body of a request with a replaceable model name. */
export class RequestBody {
  /** Range of the model name; null if `model` occurs twice or is written with escapes. */
  private name: Range | null;
  /** The JSON value of the body; null if it is not needed again, because it may need much more memory. */
  private readonly parsed: Record<string, unknown> | null;
  private usedInPlace = false;

  /** `parsed` is the JSON value of `body`. */
  constructor(
    private readonly body: ReceivedBody,
    parsed: Record<string, unknown>,
  ) {
    this.name = plainName(body.bytes, parsed);
    this.parsed = this.name === null ? parsed : null;
  }

  /** Whether the parsed value is kept as well. */
  get keepsParsed(): boolean {
    return this.parsed !== null;
  }

  /** The current body: with the last inserted name, if that had room. */
  get bytes(): Buffer {
    return this.body.bytes;
  }

  /**
   * The body with this model name. The first call changes the bytes in place if there is room, because copies of 100 KB
   * make garbage collections more frequent. Later calls copy, because a server that failed may still be reading the
   * bytes. If `model` occurs twice or is written with escapes, the body is serialised again from `parsed`: no server
   * must read another name in it than the gateway has read. Throws ApiError 400 if that makes the body much larger.
   */
  withModel(model: string): Buffer {
    if (this.name === null) return this.written({ ...this.parsed, model });
    const { bytes, spare } = this.body;
    const { start, end } = this.name;
    const name = Buffer.from(JSON.stringify(model));
    const growth = name.length - (end - start);
    if (this.usedInPlace || growth > spare) return Buffer.concat([bytes.subarray(0, start), name, bytes.subarray(end)]);
    this.usedInPlace = true;
    const changed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length + growth);
    const rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length + Math.max(growth, 0));
    rest.copyWithin(end + growth, end, bytes.length);
    name.copy(changed, start);
    this.body.bytes = changed;
    this.body.spare = spare - growth;
    this.name = { start, end: end + growth };
    return changed;
  }

  private written(fields: object): Buffer {
    const text = JSON.stringify(fields);
    // For example, 9e20 is written with 21 digits.
    if (text.length > MOST_GROWTH.factor * this.body.bytes.length + MOST_GROWTH.bytes)
      throw new ApiError(400, 'The request body names model twice or with escapes. Name it once, in plain letters.', {
        param: 'model',
      });
    return Buffer.from(text);
  }
}

/** A body that is serialised again may grow by this factor and this many bytes. */
const MOST_GROWTH = { factor: 2, bytes: 10_000 };

function plainName(bytes: Buffer, parsed: Record<string, unknown>): Range | null {
  const [range, ...others] = allModelRanges(bytes);
  if (range === undefined || others.length > 0) return null;
  if (range === NO_STRING) return null;
  return JSON.parse(bytes.toString('utf8', range.start, range.end)) === parsed['model'] ? range : null;
}
