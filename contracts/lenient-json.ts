/**
 * Strings of JSON, and what servers in Python write for numbers that JSON has no form for. A string that is never
 * closed is found too: else the rest of the text would be searched from each quote in it.
 */
const STRING_OR_NO_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\b(?:NaN|Infinity)\b/g;

/** The value of a JSON text, in which NaN and infinities are null; undefined for any other text. */
export function parseLenient(text: string): unknown {
  for (const read of [(same: string) => same, withoutNoNumbers]) {
    try {
      return JSON.parse(read(text)) as unknown;
    } catch {
      // The other reading, or none.
    }
  }
  return undefined;
}

const withoutNoNumbers = (text: string): string =>
  text.replace(STRING_OR_NO_NUMBER, (found) => (found.startsWith('"') ? found : 'null'));
