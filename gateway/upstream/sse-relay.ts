import type { ServerResponse } from 'node:http';
import { hideSecretInBytes } from '../../contracts/hide-secret';
import { openAiError } from '../../contracts/messages/openai-error';
import type { StreamTranslation } from '../../dialects';
import { checkEvents, type FoundEvents } from './check-events';
import { GrowingBuffer } from './growing-buffer';

/** A server that sends more than this without ending an event is not sending events. */
const LONGEST_EVENT_BYTES = 16_000_000;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
/** A stream may begin with it (WHATWG, server-sent events). Some clients take it for part of a field. */
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

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

/** The first event of a model server's stream is its error. Nothing was written to the client. */
export class FailedAtOnce extends Error {
  constructor(
    /** Data of the event. */
    readonly body: Buffer,
  ) {
    super('The model server began its stream with an error.');
    this.name = 'FailedAtOnce';
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
  return Math.max(after(data, '\n\n'), after(data, '\r\n\r\n'), after(data, '\r\r'));
}

function after(data: Buffer, mark: string): number {
  const at = data.lastIndexOf(mark);
  return at < 0 ? 0 : at + mark.length;
}

/** The options of a relay, apart from the client's response. */
export interface RelayOptions {
  /** Called once, before the first event is written. */
  start: () => void;
  /** Called with every piece of the model server's stream. */
  onPiece: ((piece: Buffer) => void) | null;
  /** Translates the events for the client; null: it gets them as they are. */
  translation: StreamTranslation | null;
  /** Longest time without an event with data, in milliseconds. */
  silentMs: number;
  /** Called with the memory of an incomplete event, in bytes. May throw. */
  hold: (bytes: number) => void;
}

/**
 * Relays a stream of server-sent events in whole, checked events. An event that a dying server cuts off never reaches
 * the client. Comments and events that say nothing wait for the first one that does: until then another model server
 * can be asked.
 */
export class SseRelay {
  private readonly rest = new GrowingBuffer();
  /** What came before the first event that says something. */
  private readonly opening = new GrowingBuffer();
  private lastData = performance.now();
  private isAtStart = true;
  /** Whether the stream is no whole answer: an event was an error, of the model server or of this relay. */
  failed = false;
  /** Whether anything has been written to the client. */
  started = false;
  /** The gateway's own key. Model servers repeat keys in their errors; no client may get it. */
  secret: string | null = null;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: RelayOptions,
  ) {}

  /**
   * Relays the events that have become complete. Returns false when the client reads more slowly than the server sends:
   * then the server must be paused until the response emits `drain`. Throws BrokenStream when it is no stream of
   * events, and FailedAtOnce when it begins with an error.
   */
  push(chunk: Buffer): boolean {
    const { rest } = this;
    const before = rest.length;
    if (before === 0 && endOfLastEvent(chunk) === chunk.length) return this.write(chunk);
    rest.append(chunk);
    // A blank line may have begun in the earlier bytes.
    const seen = Math.max(before - 3, 0);
    const found = endOfLastEvent(rest.from(seen));
    if (found > 0) {
      const data = rest.take();
      const end = seen + found;
      if (end < data.length) rest.append(data.subarray(end));
      const goesOn = this.write(data.subarray(0, end));
      this.hold();
      return goesOn;
    }
    if (rest.length > LONGEST_EVENT_BYTES)
      throw new BrokenStream(
        'too-large',
        `The model server sent ${LONGEST_EVENT_BYTES} bytes without ending an event.`,
      );
    this.hold();
    this.checkSilence();
    return true;
  }

  /**
   * Calls `resume` once, when the client can receive more. The client's pause does not count as the server's silence.
   */
  onDrain(resume: () => void): void {
    this.response.once('drain', () => {
      this.lastData = performance.now();
      resume();
    });
  }

  /**
   * Ends the client's stream after the server has ended its own. Completes a last event that lacks only its blank line.
   * Sends an error event instead of any other incomplete event. Does nothing where nothing has been written. Throws
   * FailedAtOnce.
   */
  end(): void {
    const rest = this.withoutMark(this.rest.take());
    const checked = checkEvents(rest);
    if ('error' in checked) this.notice(checked.error);
    if (!this.started) return;
    if (rest.length > 0) {
      // A field without data may have been cut off. A cut comment harms nobody.
      if ('fault' in checked || (checked.data === 0 && rest[0] !== COLON))
        return this.fail('The model server ended its answer in the middle of an event.');
      this.send(hideSecretInBytes(Buffer.concat([rest, Buffer.from('\n\n')]), this.secret));
    }
    const { translation } = this.options;
    const last = translation?.end() ?? '';
    if (translation?.hasFailed === true) this.failed = true;
    this.response.end(last);
  }

  /**
   * Ends the client's stream after the server's stream has broken, with the error event that OpenAI's clients expect.
   */
  fail(message: string): void {
    this.failed = true;
    this.send(Buffer.from(`data: ${JSON.stringify(openAiError(message, 'server_error', null, 'upstream_error'))}\n\n`));
    this.response.end();
  }

  private write(data: Buffer): boolean {
    const events = this.withoutMark(data);
    const checked = checkEvents(events);
    if ('fault' in checked) throw new BrokenStream('junk', `The model server sent an event with ${checked.fault}.`);
    this.notice(checked.error);
    if (checked.data > 0) this.lastData = performance.now();
    else this.checkSilence();
    const { opening } = this;
    if (this.started) return this.send(hideSecretInBytes(events, this.secret));
    opening.append(events);
    if (checked.says) {
      const said = opening.take();
      this.hold();
      return this.send(hideSecretInBytes(said, this.secret));
    }
    if (opening.length > LONGEST_EVENT_BYTES)
      throw new BrokenStream('too-large', `The model server sent ${LONGEST_EVENT_BYTES} bytes that say nothing.`);
    this.hold();
    return true;
  }

  /** The first bytes of the stream without a byte order mark, and all others as they are. */
  private withoutMark(data: Buffer): Buffer {
    const isMarked = this.isAtStart && data.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    this.isAtStart = false;
    return isMarked ? data.subarray(BYTE_ORDER_MARK.length) : data;
  }

  private hold(): void {
    this.options.hold(this.rest.held + this.opening.held + (this.options.translation?.held ?? 0));
  }

  private notice(error: FoundEvents['error']): void {
    if (error === null) return;
    if (error.isFirst && !this.started) throw new FailedAtOnce(error.body);
    this.failed = true;
  }

  private send(piece: Buffer): boolean {
    if (!this.started) this.options.start();
    this.started = true;
    const { onPiece, translation } = this.options;
    onPiece?.(piece);
    if (translation === null) return this.response.write(piece);
    const translated = translation.push(piece.toString('utf8'));
    if (translation.hasFailed) this.failed = true;
    this.hold();
    // The translation of tool calls waits for the answer's end.
    return translated === '' || this.response.write(translated);
  }

  private checkSilence(): void {
    const { silentMs } = this.options;
    if (performance.now() - this.lastData > silentMs)
      throw new BrokenStream('timeout', `The model server sent no event with data for ${silentMs} ms.`);
  }
}
