/**
 * Replaces the top-level member `model` in the bytes of a JSON object and leaves every other byte alone: no field is lost, no number
 * loses digits, and 100 KB of messages are not written again.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

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

/** Byte ranges of the values of all top-level members spelled `"model"` whose value is a string. */
function modelRanges(text: Buffer): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === QUOTE) {
      const end = endOfString(text, at);
      if (depth === 1 && end - at === 7 && text.toString('latin1', at, end) === '"model"') {
        const colon = skipSpace(text, end);
        const start = skipSpace(text, colon + 1);
        if (text[colon] === 0x3a && text[start] === QUOTE) {
          const valueEnd = endOfString(text, start);
          found.push({ start, end: valueEnd });
          at = valueEnd - 1;
          continue;
        }
      }
      at = end - 1;
    } else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return found;
}

/**
 * The body with another model name. `parsed` is the same body parsed. A body that names the model twice or in escapes is written anew from
 * `parsed`, so that no server can read another name from it than the gateway did.
 */
export function withModel(body: Buffer, parsed: Record<string, unknown>, model: string): Buffer {
  const ranges = modelRanges(body);
  const [range] = ranges;
  if (range === undefined || ranges.length !== 1) return Buffer.from(JSON.stringify({ ...parsed, model }));
  // One plain spelling beside an escaped one, which may come last and would then win.
  if (JSON.parse(body.toString('utf8', range.start, range.end)) !== parsed['model']) return Buffer.from(JSON.stringify({ ...parsed, model }));
  return Buffer.concat([body.subarray(0, range.start), Buffer.from(JSON.stringify(model)), body.subarray(range.end)]);
}
