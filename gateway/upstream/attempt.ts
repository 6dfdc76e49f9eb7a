import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { hideSecret, hideSecretInBytes } from '../../contracts/hide-secret';
import { type Replica, ClientGone } from './replica';
import type { MemoryLease } from '../http/memory-budget';
import { ApiError } from '../http/errors';
import { GrowingBuffer } from './growing-buffer';
import { statusOfBody } from './response-checks';
import { BrokenStream, FailedAtOnce, type SseRelay } from './sse-relay';

/** A request to a model server. */
export interface UpstreamRequest {
  method: 'GET' | 'POST';
  /** Without the replica's base path: `/chat/completions`. */
  path: string;
  /** The route is beside `/v1` and not in it, as vLLM's `/tokenize`. */
  isBesideV1?: boolean;
  body: Buffer | null;
  headers: Record<string, string>;
  /** Served name of the model; requests in flight are counted by it. */
  model: string;
  /** Largest allowed answer without streaming. */
  answerBytes: number;
  /** Memory of the answer until the client has received it. */
  answerMemory: MemoryLease;
  /** Time limit in milliseconds, first until an answer begins, and then again until a complete one has arrived. */
  answerMs: number;
}

/** The result of an attempt. Only `streamed` means that something has been written to the client. */
export type AttemptResult =
  | { kind: 'whole'; status: number; headers: IncomingHttpHeaders; body: Buffer }
  | { kind: 'streamed'; complete: boolean }
  | { kind: 'failed'; why: 'connect' | 'cut' | 'timeout' | 'too-large' | 'junk' | 'client-gone'; message: string }
  /** The gateway itself refuses the request. */
  | { kind: 'refused'; error: ApiError };

/** Opens the client's stream. Called with the headers of a model server's answer that is an event stream. */
export type OpenRelay = (headers: IncomingHttpHeaders) => SseRelay;

/** The client of a request, with the state that attempts need. */
export interface ClientState {
  /** Whether it has gone. */
  gone: boolean;
  /** It is set while an attempt runs. Called when the client disconnects. */
  abort: (() => void) | null;
}

/** Sends one request to one model server. Never rejects. */
export function attempt(
  replica: Replica,
  request: UpstreamRequest,
  openRelay: OpenRelay | null,
  client: ClientState,
): Promise<AttemptResult> {
  return new Promise((resolve) => {
    replica.begin(request.model);
    const settle = (result: AttemptResult) => {
      client.abort = null;
      replica.end(request.model);
      resolve(result);
    };
    const { method, body } = request;
    replica.pool.dispatch(
      {
        method,
        path: (request.isBesideV1 ? replica.basePath.replace(/\/v1$/, '') : replica.basePath) + request.path,
        body,
        headers: { ...request.headers, ...replica.authorization },
      },
      new AttemptHandler(request, openRelay, replica.apiKey, client, settle),
    );
  });
}

class AttemptHandler implements Dispatcher.DispatchHandler {
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private readonly answer = new GrowingBuffer();
  private relay: SseRelay | null = null;
  private ended = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly request: UpstreamRequest,
    private readonly openRelay: OpenRelay | null,
    /** The gateway's own key. It is removed from answers, because model servers repeat keys in their errors. */
    private readonly secret: string | null,
    private readonly client: ClientState,
    private readonly settle: (result: AttemptResult) => void,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // undici's own limits start again with each preliminary answer and each piece.
    const { answerMs } = this.request;
    this.timer = setTimeout(() => {
      controller.abort(new BrokenStream('timeout', `The model server has not answered within ${answerMs} ms.`));
    }, answerMs);
    this.client.abort = () => controller.abort(new ClientGone());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.headers = withoutSecret(headers, this.secret);
    const isStream = status === 200 && /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
    if (!isStream || this.openRelay === null) return void this.timer?.refresh();
    clearTimeout(this.timer);
    this.relay = this.openRelay(this.headers);
    this.relay.secret = this.secret;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    try {
      if (this.relay === null) this.keep(chunk);
      // The chunk may be kept, because undici does not reuse its memory.
      else if (!this.relay.push(chunk)) {
        controller.pause();
        this.relay.onDrain(() => controller.resume());
      }
    } catch (error) {
      controller.abort(error as Error);
    }
  }

  private keep(chunk: Buffer): void {
    const { answer } = this;
    const { answerBytes, answerMemory } = this.request;
    if (answer.length + chunk.length > answerBytes)
      throw new BrokenStream('too-large', `The model server answered with more than ${answerBytes} bytes.`);
    answer.append(chunk);
    answerMemory.take(answer.held);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.relay === null) {
      const body = hideSecretInBytes(this.answer.take(), this.secret);
      return this.finish({ kind: 'whole', status: this.status, headers: this.headers, body });
    }
    try {
      this.relay.end();
    } catch (error) {
      return this.onResponseError(controller, error as Error);
    }
    if (!this.relay.started)
      return this.finish({ kind: 'failed', why: 'cut', message: 'ended its stream without an event' });
    this.finish({ kind: 'streamed', complete: !this.relay.failed });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error & { code?: string }): void {
    if (error instanceof ClientGone) return this.finish({ kind: 'failed', why: 'client-gone', message: error.message });
    if (error instanceof FailedAtOnce) {
      const { body } = error;
      return this.finish({ kind: 'whole', status: statusOfBody(body), headers: this.headers, body });
    }
    const isOurs = error instanceof BrokenStream || error instanceof ApiError;
    if (this.relay?.started === true) {
      this.relay.fail(isOurs ? error.message : 'The model server broke off its answer.');
      return this.finish({ kind: 'streamed', complete: false });
    }
    if (error instanceof ApiError) return this.finish({ kind: 'refused', error });
    if (error instanceof BrokenStream) return this.finish({ kind: 'failed', why: error.why, message: error.message });
    const code = error.code ?? '';
    const isTimeout = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT';
    const isConnect =
      code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ENOTFOUND' || code === 'EHOSTUNREACH';
    this.finish({ kind: 'failed', why: isTimeout ? 'timeout' : isConnect ? 'connect' : 'cut', message: error.message });
  }

  private finish(result: AttemptResult): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.timer);
    this.settle(result);
  }
}

function withoutSecret(headers: IncomingHttpHeaders, secret: string | null): IncomingHttpHeaders {
  if (secret === null) return headers;
  const isClean = (value: string | string[] | undefined) => hideSecret(String(value), secret) === String(value);
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => isClean(value)));
}
