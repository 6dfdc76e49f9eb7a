import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { hideSecretInBytes } from '../../contracts/hide-secret';
import { type Replica, ClientGone } from './replica';
import type { SseRelay } from './sse-relay';

/** A request to a model server. */
export interface UpstreamRequest {
  method: 'GET' | 'POST';
  /** Without the replica's base path: `/chat/completions`. */
  path: string;
  body: Buffer | null;
  headers: Record<string, string>;
  /** Served name of the model, by which requests in flight are counted. */
  model: string;
  /** Largest allowed answer that is not streamed. */
  answerBytes: number;
}

/** How an attempt ended. Only with `streamed` has anything been written to the client. */
export type AttemptResult =
  | { kind: 'whole'; status: number; headers: IncomingHttpHeaders; body: Buffer }
  | { kind: 'streamed'; complete: boolean }
  | { kind: 'failed'; why: 'connect' | 'cut' | 'timeout' | 'too-large' | 'client-gone'; message: string };

/** Takes an answer that is a stream of events to the client. */
export interface StreamTarget {
  /** Called when the stream begins, with the headers of the model server's answer. */
  open(headers: IncomingHttpHeaders): SseRelay;
  /** Whether anything has been written to the client. */
  started(): boolean;
  /** Calls `resume` once, when the client can take more. */
  onDrain(resume: () => void): void;
}

/** Aborts an attempt. */
export interface AbortHandle {
  /** Set while the attempt runs. Called when the client has gone. */
  abort: (() => void) | null;
}

/** Sends one request to one model server. Never rejects. */
export function attempt(
  replica: Replica,
  request: UpstreamRequest,
  target: StreamTarget | null,
  handle: AbortHandle,
): Promise<AttemptResult> {
  return new Promise((resolve) => {
    replica.begin(request.model);
    const settle = (result: AttemptResult) => {
      handle.abort = null;
      replica.end(request.model);
      resolve(result);
    };
    const auth = replica.apiKey === null ? {} : { authorization: `Bearer ${replica.apiKey}` };
    const { method, body } = request;
    replica.pool.dispatch(
      { method, path: replica.basePath + request.path, body, headers: { ...request.headers, ...auth } },
      new AttemptHandler(request, target, replica.apiKey, handle, settle),
    );
  });
}

class AttemptHandler implements Dispatcher.DispatchHandler {
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private chunks: Buffer[] = [];
  private size = 0;
  private relay: SseRelay | null = null;
  private ended = false;

  constructor(
    private readonly request: UpstreamRequest,
    private readonly target: StreamTarget | null,
    /** The gateway's own key, which model servers repeat in their errors. */
    private readonly secret: string | null,
    private readonly handle: AbortHandle,
    private readonly settle: (result: AttemptResult) => void,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.handle.abort = () => controller.abort(new ClientGone());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.headers = headers;
    const isStream = status === 200 && (headers['content-type'] ?? '').startsWith('text/event-stream');
    if (!isStream || this.target === null) return;
    this.relay = this.target.open(headers);
    this.relay.secret = this.secret;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.relay !== null) {
      // The chunk may be kept: undici does not use its memory again.
      if (!this.relay.push(chunk)) {
        controller.pause();
        this.target?.onDrain(() => controller.resume());
      }
      return;
    }
    this.size += chunk.length;
    if (this.size > this.request.answerBytes) {
      this.finish({
        kind: 'failed',
        why: 'too-large',
        message: `answered with more than ${this.request.answerBytes} bytes`,
      });
      controller.abort(new ClientGone());
      return;
    }
    this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.relay === null) {
      const whole = this.chunks.length === 1 ? (this.chunks[0] as Buffer) : Buffer.concat(this.chunks, this.size);
      const body = hideSecretInBytes(whole, this.secret);
      return this.finish({ kind: 'whole', status: this.status, headers: this.headers, body });
    }
    if (this.target?.started() !== true)
      return this.finish({ kind: 'failed', why: 'cut', message: 'ended its stream without an event' });
    this.relay.end();
    this.finish({ kind: 'streamed', complete: true });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error & { code?: string }): void {
    if (error instanceof ClientGone) return this.finish({ kind: 'failed', why: 'client-gone', message: error.message });
    if (this.relay !== null && this.target?.started() === true) {
      this.relay.fail('The model server broke off its answer.');
      return this.finish({ kind: 'streamed', complete: false });
    }
    const code = error.code ?? '';
    const isTimeout = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT';
    const isConnect =
      code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ENOTFOUND' || code === 'EHOSTUNREACH';
    this.finish({ kind: 'failed', why: isTimeout ? 'timeout' : isConnect ? 'connect' : 'cut', message: error.message });
  }

  private finish(result: AttemptResult): void {
    if (this.ended) return;
    this.ended = true;
    this.settle(result);
  }
}
