import type { ServerResponse } from 'node:http';
import { hideSecretInBytes } from '../../contracts/hide-secret';
import { openAiError } from '../../contracts/messages/openai-error';
import { checkEvents } from './check-events';
import { GrowingBuffer } from './growing-buffer';

/** A server that sends more than this without ending an event is not sending events. */
const LONGEST_EVENT_BYTES = 16_000_000;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;

/** A model server's stream cannot be relayed any further. The message is for the client. */
export class BrokenStream extends Error {
  constructor(
    readonly why: 'junk' | 'timeout' | 'too-large',
    message: string,
  ) {
    super(message);
    this.name = 'BrokenStream';
  }
}

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

/** The needs of a relay, other than the client's response. */
export interface RelayOptions {
  /** Called once, before the first event is written. */
  start: () => void;
  /** Called with every piece that is written. */
  onPiece: ((piece: Buffer) => void) | null;
  /** How long a stream may last without an event that has data, in milliseconds. */
  silentMs: number;
  /** Called with the memory that an event takes until it is complete, in bytes. May throw. */
  hold: (bytes: number) => void;
}

/**
 * Relays a stream of server-sent events in whole, checked events. An event that a dying server cuts off never reaches
 * the client.
 */
export class SseRelay {
  private readonly rest = new GrowingBuffer();
  private lastData = performance.now();
  /** Whether anything has been written to the client. */
  started = false;
  /** The gateway's own key. Model servers repeat keys in their errors; no client gets it. */
  secret: string | null = null;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: RelayOptions,
  ) {}

  /**
   * Relays the events that have become complete. Returns false when the client reads more slowly than the server sends:
   * then the server must be paused until the response emits `drain`. Throws BrokenStream when it is no stream of
   * events.
   */
  push(chunk: Buffer): boolean {
    const { rest } = this;
    const before = rest.length;
    if (before === 0 && endOfLastEvent(chunk) === chunk.length) return this.write(chunk);
    rest.append(chunk);
    // A blank line may have begun in the bytes before.
    const seen = Math.max(before - 3, 0);
    const found = endOfLastEvent(rest.from(seen));
    if (found > 0) {
      const data = rest.take();
      const end = seen + found;
      if (end < data.length) rest.append(data.subarray(end));
      const goesOn = this.write(data.subarray(0, end));
      this.options.hold(rest.held);
      return goesOn;
    }
    if (rest.length > LONGEST_EVENT_BYTES)
      throw new BrokenStream(
        'too-large',
        `The model server sent ${LONGEST_EVENT_BYTES} bytes without ending an event.`,
      );
    this.options.hold(rest.held);
    this.checkSilence();
    return true;
  }

  /** Calls `resume` once, when the client can take more. Its pause does not count as the server's silence. */
  onDrain(resume: () => void): void {
    this.response.once('drain', () => {
      this.lastData = performance.now();
      resume();
    });
  }

  /**
   * Ends the client's stream after the server has ended its own. Completes a last event that lacks only its blank line.
   * Sends an error event instead of any other incomplete event.
   */
  end(): void {
    const rest = this.rest.take();
    if (rest.length > 0) {
      const checked = checkEvents(rest);
      // A field without data may have been cut off. A cut comment harms nobody.
      if ('fault' in checked || (checked.data === 0 && rest[0] !== COLON))
        return this.fail('The model server ended its answer in the middle of an event.');
      this.send(hideSecretInBytes(Buffer.concat([rest, Buffer.from('\n\n')]), this.secret));
    }
    this.response.end();
  }

  /** Ends the client's stream after the server's has broken: with an error event, as OpenAI's clients expect it. */
  fail(message: string): void {
    this.send(Buffer.from(`data: ${JSON.stringify(openAiError(message, 'server_error', null, 'upstream_error'))}\n\n`));
    this.response.end();
  }

  private write(events: Buffer): boolean {
    const checked = checkEvents(events);
    if ('fault' in checked) throw new BrokenStream('junk', `The model server sent an event with ${checked.fault}.`);
    if (checked.data > 0) this.lastData = performance.now();
    else this.checkSilence();
    return this.send(hideSecretInBytes(events, this.secret));
  }

  private send(piece: Buffer): boolean {
    if (!this.started) this.options.start();
    this.started = true;
    this.options.onPiece?.(piece);
    return this.response.write(piece);
  }

  private checkSilence(): void {
    const { silentMs } = this.options;
    if (performance.now() - this.lastData > silentMs)
      throw new BrokenStream('timeout', `The model server sent no event with data for ${silentMs} ms.`);
  }
}
