/** Of larger data, such as log-probabilities of a long prompt, only the first and last characters are checked. */
const PARSED_CHARACTERS = 64_000;

const LINE_ENDS = /\r\n|\n|\r/;
/** Comments, and fields without data. */
const OTHER_LINES = /^(?::|(?:event|id|retry)(?::|$))/;
const NO_JSON = 'data that is not JSON';

/**
 * Control characters but tab and line ends. JSON never has them. Comments, other fields, and data that is too large to
 * parse may have them.
 */
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/** The fault of a stream of events, in words for its client; or the number of its events with data. */
export type EventCheck = { fault: string } | { data: number };

/**
 * Checks whole server-sent events, as WHATWG's "Server-sent events" has them: each line is empty, a comment or a known
 * field, and the data of each event is a JSON object or [DONE].
 */
export function checkEvents(events: Buffer): EventCheck {
  // One character for each byte: quick, and whether bytes are JSON does not depend on the characters in its strings.
  const text = events.toString('latin1');
  if (CONTROL.test(text)) return { fault: 'control characters' };
  let count = 0;
  let data: string | null = null;
  for (const line of text.includes('\r') ? text.split(LINE_ENDS) : text.split('\n')) {
    if (line === '') {
      if (data === null) continue;
      if (!isData(data)) return { fault: NO_JSON };
      count += 1;
      data = null;
    } else if (line.startsWith('data:')) {
      data = data === null ? line.slice(5) : `${data}\n${line.slice(5)}`;
    } else if (line === 'data') {
      data ??= '';
    } else if (!OTHER_LINES.test(line)) {
      return { fault: 'a line that is no field' };
    }
  }
  if (data === null) return { data: count };
  return isData(data) ? { data: count + 1 } : { fault: NO_JSON };
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
