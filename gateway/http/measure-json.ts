import { ApiError } from './errors';

/** Largest nesting of objects and lists. The servers behind the gateway read JSON recursively. */
const DEEPEST = 100;
/** A body may have this many strings, objects and lists, and one more for each BYTES_PER_VALUE of its bytes. */
const FREE_VALUES = 20_000;
const BYTES_PER_VALUE = 20;
/** Memory of an object, a list or a string without its text. */
const VALUE_BYTES = 100;
/** Memory of a number, true, false or null, including its place in a list that has grown. */
const PLAIN_BYTES = 40;
/** Bodies up to this size are parsed before their values are counted. Counting in the bytes would take longer. */
const SMALL_BYTES = 262_144;

const [QUOTE, BACKSLASH, BRACE, BRACKET] = [0x22, 0x5c, 0x7b, 0x5b];

/**
 * Refuses a large body that would need far more memory when parsed than as text, such as `[[],[],[],...]`. Throws
 * ApiError 400. Bodies of the usual size are not checked here: `measureParsed` checks them after parsing.
 */
export function refuseBloated(body: Buffer): void {
  if (body.length <= SMALL_BYTES) return;
  const limit = mostValues(body.length);
  let count = 0;
  let inString = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE || byte === BRACE || byte === BRACKET) {
      inString = byte === QUOTE;
      if (++count > limit) throw tooMany(limit);
    }
  }
}

/**
 * Upper bound of the memory of a parsed body of `bytes` bytes, in bytes. Throws ApiError 400 if it has too many
 * strings, keys, objects and lists, or if one is too deep. It is not recursive, because the input is a client's.
 */
export function measureParsed(value: object, bytes: number): number {
  const limit = mostValues(bytes);
  let count = 0;
  let plain = 0;
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > DEEPEST)
      throw new ApiError(400, `The request body is nested deeper than ${DEEPEST} levels.`, { code: 'invalid_json' });
    const next: object[] = [];
    for (const container of level) {
      const inner: unknown[] = Array.isArray(container) ? container : Object.values(container);
      count += Array.isArray(container) ? 1 : 1 + inner.length;
      for (const one of inner) {
        if (typeof one === 'string') count += 1;
        else if (typeof one === 'object' && one !== null) next.push(one);
        else plain += 1;
      }
      if (count + next.length > limit) throw tooMany(limit);
    }
    level = next;
  }
  return 2 * bytes + VALUE_BYTES * count + PLAIN_BYTES * plain;
}

const mostValues = (bytes: number): number => FREE_VALUES + Math.floor(bytes / BYTES_PER_VALUE);

const tooMany = (limit: number) =>
  new ApiError(400, `The request body holds more than ${limit} strings, objects and lists.`, {
    code: 'too_many_values',
  });
