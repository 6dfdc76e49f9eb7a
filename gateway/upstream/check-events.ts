import { eventsIn } from '../../dialects';
import { errorIn } from './response-checks';

/** Of larger data, such as log-probabilities of a long prompt, only the first and last characters are checked. */
const PARSED_CHARACTERS = 64_000;

const NO_JSON = 'data that is not JSON';

/**
 * Control characters except tab and line ends. JSON never contains them. Comments, other fields, and data that is too
 * large to parse may contain them.
 */
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/** What a stream's events hold. */
export interface FoundEvents {
  /** Number of events with data. */
  data: number;
  /** Whether one of them says more than the role of who answers. */
  says: boolean;
  /** Data of the first event that is the model server's error; null: none is. */
  error: { body: Buffer; isFirst: boolean } | null;
}

/**
 * Checks whole server-sent events, as WHATWG's "Server-sent events" has them: each line is empty, a comment or a known
 * field, and the data of each event is a JSON object or [DONE]. Returns what they hold, or their fault in words for the
 * client.
 */
export function checkEvents(events: Buffer): FoundEvents | { fault: string } {
  // One character for each byte: quick, and whether bytes are JSON does not depend on the characters in its strings.
  const text = events.toString('latin1');
  if (CONTROL.test(text)) return { fault: 'control characters' };
  const found = eventsIn(text);
  if ('fault' in found) return found;
  let says = false;
  let error: FoundEvents['error'] = null;
  for (const { data, isError } of found) {
    const kind = kindOf(data);
    if (kind === 'no-json') return { fault: NO_JSON };
    if (kind === 'error' || isError) error ??= { body: Buffer.from(data, 'latin1'), isFirst: !says };
    says ||= kind !== 'opening';
  }
  return { data: found.length, says, error };
}

function kindOf(data: string): 'no-json' | 'error' | 'opening' | 'data' {
  if (data === '[DONE]') return 'data';
  if (!data.startsWith('{') || !data.endsWith('}')) return 'no-json';
  if (data.length > PARSED_CHARACTERS) return 'data';
  try {
    const value = JSON.parse(data) as object;
    if (errorIn(value) !== null) return 'error';
    return isOpening(value) ? 'opening' : 'data';
  } catch {
    return 'no-json';
  }
}

interface Chunk {
  choices?: unknown;
  usage?: unknown;
}

/** Whether an event only announces an answer: servers send the role before they begin to compute. */
function isOpening({ choices, usage }: Chunk): boolean {
  return (
    Array.isArray(choices) &&
    (usage ?? null) === null &&
    (choices as ({ delta?: unknown; finish_reason?: unknown } | null)[]).every(
      (choice) =>
        typeof choice?.delta === 'object' &&
        choice.delta !== null &&
        (choice.finish_reason ?? null) === null &&
        Object.entries(choice.delta).every(([name, value]) => name === 'role' || isNothing(value)),
    )
  );
}

const isNothing = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0);
