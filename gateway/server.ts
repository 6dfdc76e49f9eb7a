/**
 * The HTTP server: finds the route, identifies the client, turns errors into answers, and drains. It uses `node:http`
 * without a framework, because a framework took a measurable part of the 0.3 ms that a request costs here.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { openAiError } from '../contracts/messages/openai-error';
import type { Gateway } from './gateway';
import { Exchange } from './handlers/exchange';
import { handleInference, INFERENCE_ROUTES, type InferenceRoute } from './handlers/inference';
import { LOCAL_ROUTES } from './handlers/local-routes';
import { ApiError } from './http/errors';
import { sendError } from './http/respond';
import type { Client } from './clients';

/** The HTTP server of a gateway. It listens once `listen` is called. */
export class GatewayServer {
  readonly http: Server;
  private inFlight = 0;
  private idle: (() => void) | null = null;

  constructor(private readonly gateway: Gateway) {
    this.http = createServer(
      { keepAliveTimeout: 75_000, requestTimeout: 0, headersTimeout: 15_000, noDelay: true },
      (request, response) => {
        void this.answer(request, response);
      },
    );
    this.http.on('clientError', refuseMalformed);
  }

  /** Resolves with the port that it listens on; `port` 0 takes a free one. Rejects when the port is taken. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.http.once('error', reject);
      this.http.listen(port, host, () => {
        this.http.off('error', reject);
        const address = this.http.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /**
   * Takes no more connections and waits up to `limitMs` for the requests in flight. Then it closes all connections.
   * Resolves with the number of requests that were cut off.
   */
  async drain(limitMs: number): Promise<number> {
    this.gateway.draining = true;
    const closed = new Promise<void>((resolve) => this.http.close(() => resolve()));
    this.http.closeIdleConnections();
    if (this.inFlight > 0) {
      const done = new Promise<void>((resolve) => (this.idle = resolve));
      const timer = new Promise<void>((resolve) => setTimeout(resolve, limitMs).unref());
      await Promise.race([done, timer]);
    }
    const cut = this.inFlight;
    this.http.closeAllConnections();
    await closed;
    return cut;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.inFlight += 1;
    if (this.gateway.draining) response.setHeader('connection', 'close');
    try {
      await this.dispatch(request, response);
    } catch (error) {
      this.fail(response, error, {});
    } finally {
      this.inFlight -= 1;
      if (this.inFlight === 0) this.idle?.();
    }
  }

  private async dispatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?', 1)[0] as string;
    const inference = INFERENCE_ROUTES[path];
    const local = LOCAL_ROUTES[path];
    if (inference === undefined && local === undefined) {
      throw new ApiError(404, `There is no route ${path.slice(0, 100)}.`, { code: 'unknown_route' });
    }
    const method = inference === undefined ? local?.method : 'POST';
    if (request.method !== method) {
      throw new ApiError(405, `${path} takes ${method}, not ${request.method}.`, {
        code: 'method_not_allowed',
        headers: { allow: method ?? '' },
      });
    }
    if (local?.isPublic === true) return local.answer(this.gateway, request, response, null);
    const client = this.gateway.clients.identify(request.headers.authorization);
    if (local !== undefined) return local.answer(this.gateway, request, response, client);
    client.enter();
    try {
      if (inference !== undefined) await this.infer(request, response, client, inference);
    } finally {
      client.release();
    }
  }

  private async infer(
    request: IncomingMessage,
    response: ServerResponse,
    client: Client,
    route: InferenceRoute,
  ): Promise<void> {
    const { metrics } = this.gateway;
    const exchange = new Exchange(request, response, client);
    metrics.inFlight.inc();
    exchange.span = this.gateway.deps.tracing?.start(request, OPERATIONS[route.path]) ?? null;
    let status = '499';
    try {
      if (await handleInference(this.gateway, exchange, route)) status = String(response.statusCode);
    } catch (error) {
      status = String(this.fail(response, error, exchange.headers()));
    } finally {
      metrics.inFlight.dec();
      const { routed } = exchange;
      const agent = routed?.agent.settings.name ?? 'none';
      endSpan(exchange, agent, status);
      const labels = {
        agent,
        client: client.name,
        adapter: routed?.adapter ?? 'base',
        route: routed?.reason ?? 'refused',
        status,
      };
      metrics.requests.inc(labels);
      if (status === '499') metrics.gone.inc({ agent });
      else {
        metrics.seconds.observe({ agent }, (performance.now() - exchange.began) / 1000);
        metrics.overhead.observe({ agent }, exchange.overheadMs() / 1000);
      }
    }
  }

  /**
   * Answers with the error and returns the status. Only an ApiError's text reaches the client; any other error is a
   * fault of the gateway and goes to the log.
   */
  private fail(response: ServerResponse, error: unknown, headers: Record<string, string>): number {
    if (error instanceof ApiError) {
      sendError(response, error, headers);
      return error.status;
    }
    if (response.destroyed || response.socket === null || response.socket.destroyed) return 499;
    this.gateway.deps.log.error(
      { error: error instanceof Error ? error.stack : String(error) },
      'a request failed in the gateway itself',
    );
    sendError(response, new ApiError(500, 'The gateway failed; its log says why.', { code: 'gateway_error' }), headers);
    return 500;
  }
}

/** `gen_ai.operation.name` of OpenTelemetry's semantic conventions, by route. */
const OPERATIONS = {
  '/chat/completions': 'chat',
  '/completions': 'text_completion',
  '/embeddings': 'embeddings',
} as const;

function endSpan(exchange: Exchange, agent: string, status: string): void {
  const { span, routed } = exchange;
  if (span === null) return;
  span.set({
    'gen_ai.agent.name': agent,
    'gen_ai.response.model': routed?.adapter ?? 'base',
    'whet.version': routed?.version ?? 0,
    'whet.route': routed?.reason ?? 'refused',
    'whet.overhead_ms': exchange.overheadMs(),
    ...(routed?.conversation ? { 'gen_ai.conversation.id': routed.conversation.name } : {}),
  });
  span.end(status);
}

/** Answers bytes that Node cannot parse as an HTTP request. */
function refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const body = JSON.stringify(
    openAiError(tooLarge ? 'The request headers are too large.' : 'This is no HTTP request.', 'invalid_request_error'),
  );
  const status = tooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
