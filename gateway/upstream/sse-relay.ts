import type { ServerResponse } from 'node:http';
import { hideSecretInBytes } from '../../contracts/hide-secret';
import { openAiError } from '../../contracts/messages/openai-error';

/** A server that sends more than this without ending an event is not sending events. */
const LONGEST_EVENT_BYTES = 16_000_000;

const LF = 0x0a;
const CR = 0x0d;

/** Index after the last blank line; the events before it are complete. 0 when there is no blank line. */
function endOfLastEvent(data: Buffer): number {
  const { length } = data;
  if (
    length >= 2 &&
    data[length - 1] === LF &&
    (data[length - 2] === LF || (length >= 4 && data[length - 2] === CR && data[length - 3] === LF))
  )
    return length;
  return Math.max(after(data, '\n\n'), after(data, '\r\n\r\n'));
}

function after(data: Buffer, mark: string): number {
  const at = data.lastIndexOf(mark);
  return at < 0 ? 0 : at + mark.length;
}

/**
 * Relays a stream of server-sent events in whole events. An event that a dying server cuts off never reaches the
 * client.
 */
export class SseRelay {
  private rest: Buffer | null = null;
  /** The gateway's own key. Model servers repeat keys in their errors; no client gets it. */
  secret: string | null = null;

  constructor(
    private readonly response: ServerResponse,
    /** Called before the first event is written. */
    private readonly start: () => void,
    /** Called with every piece that is written. */
    private readonly onPiece: ((piece: Buffer) => void) | null,
  ) {}

  /**
   * Relays what has become complete. Returns false when the client reads more slowly than the server sends: then the
   * server must be paused until the response emits `drain`. Throws RangeError for an event that does not end.
   */
  push(chunk: Buffer): boolean {
    const data = this.rest === null ? chunk : Buffer.concat([this.rest, chunk]);
    const end = endOfLastEvent(data);
    this.rest = end === data.length ? null : data.subarray(end);
    if (this.rest !== null && this.rest.length > LONGEST_EVENT_BYTES)
      throw new RangeError(`The model server sent ${LONGEST_EVENT_BYTES} bytes without ending an event.`);
    return end === 0 ? true : this.write(end === data.length ? data : data.subarray(0, end));
  }

  /**
   * Ends the client's stream after the server has ended its own. Completes a last event that lacks only its blank line.
   * Sends an error event instead of any other incomplete event.
   */
  end(): void {
    if (this.rest !== null && this.rest.length > 0) {
      if (isEvent(this.rest)) this.write(Buffer.concat([this.rest, Buffer.from('\n\n')]));
      else return this.fail('The model server ended its answer in the middle of an event.');
    }
    this.start();
    this.response.end();
  }

  /** Ends the client's stream after the server's has broken: with an error event, as OpenAI's clients expect it. */
  fail(message: string): void {
    this.write(
      Buffer.from(`data: ${JSON.stringify(openAiError(message, 'server_error', null, 'upstream_error'))}\n\n`),
    );
    this.response.end();
  }

  private write(events: Buffer): boolean {
    const piece = hideSecretInBytes(events, this.secret);
    this.start();
    this.onPiece?.(piece);
    return this.response.write(piece);
  }
}

function isEvent(rest: Buffer): boolean {
  const text = rest.toString('utf8').trim();
  if (text === 'data: [DONE]' || text.startsWith(':')) return true;
  if (!text.startsWith('data:')) return false;
  try {
    JSON.parse(text.slice(5));
    return true;
  } catch {
    return false;
  }
}
