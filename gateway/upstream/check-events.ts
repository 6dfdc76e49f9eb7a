/** Of larger data, such as log-probabilities of a long prompt, only the first and last characters are checked. */
const PARSED_CHARACTERS = 64_000;

const FIELDS = new Set(['data', 'event', 'id', 'retry']);

/** Control characters. JSON has them in no place but between its tokens, and there nobody needs them. */
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/** What is wrong with a stream of events, for its client; or how many events with data it has. */
export type EventCheck = { fault: string } | { data: number };

/**
 * Checks whole server-sent events, as WHATWG's "Server-sent events" has them: each line is empty, a comment or a known
 * field, and the data of each event is a JSON object or [DONE].
 */
export function checkEvents(events: Buffer): EventCheck {
  // One character for each byte: quick, and whether bytes are JSON does not depend on what stands in its strings.
  const text = events.toString('latin1');
  if (CONTROL.test(text)) return { fault: 'control characters' };
  let data: string | null = null;
  let count = 0;
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === '') {
      if (data === null) continue;
      if (!isData(data)) return { fault: 'data that is not JSON' };
      count += 1;
      data = null;
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    if (!FIELDS.has(field)) return { fault: 'a line that is no field' };
    if (field !== 'data') continue;
    const value = colon < 0 ? '' : line.slice(colon + 1);
    data = data === null ? value : `${data}\n${value}`;
  }
  return data === null || isData(data) ? { data: count } : { fault: 'data that is not JSON' };
}

function isData(data: string): boolean {
  const text = data.trim();
  if (text === '[DONE]') return true;
  if (!text.startsWith('{') || !text.endsWith('}')) return false;
  if (text.length > PARSED_CHARACTERS) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
