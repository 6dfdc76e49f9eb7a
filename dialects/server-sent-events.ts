/** Server-sent events, as WHATWG's "Server-sent events" has them. */
const LINE_ENDS = /\r\n|\n|\r/;
/** Comments, and fields without data. */
const OTHER_LINES = /^(?::|(?:event|id|retry)(?::|$))/;

/** An event with data. */
interface SentEvent {
  /** `[DONE]` ends a stream. */
  data: string;
  /** Whether the event has the name `error`. */
  isError: boolean;
}

/**
 * The events with data of a text, the last of which may lack its blank line; or the fault of one of its lines. Empty
 * data is none: proxies send it so that a connection stays open.
 */
export function eventsIn(text: string): SentEvent[] | { fault: string } {
  const events: SentEvent[] = [];
  let data: string | null = null;
  let isError = false;
  const add = () => {
    const sent = data?.trim() ?? '';
    if (sent !== '') events.push({ data: sent, isError });
  };
  for (const line of text.includes('\r') ? text.split(LINE_ENDS) : text.split('\n')) {
    if (line === '') {
      add();
      data = null;
      isError = false;
    } else if (line.startsWith('data:')) {
      data = data === null ? line.slice(5) : `${data}\n${line.slice(5)}`;
    } else if (line === 'data') {
      data ??= '';
    } else if (!OTHER_LINES.test(line)) {
      return { fault: 'a line that is no field' };
    } else if (line.startsWith('event:')) isError = line.slice(6).trim() === 'error';
  }
  add();
  return events;
}

/** The text of an event, with its name where a dialect gives events names. */
export const eventText = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
