/**
 * The two HTTP servers, for the API and for operators: they find the route, identify the client, turn errors into
 * answers, and drain. They use `node:http` without a framework, because a framework took a measurable part of the 0.3
 * ms that a request costs here.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { chatDialect } from '../dialects';
import type { Gateway } from './gateway';
import { Exchange } from './handlers/exchange';
import { handleInference, INFERENCE_ROUTES, type InferenceRoute } from './handlers/inference';
import { LOCAL_ROUTES } from './handlers/local-routes';
import { checkContentType, checkHost, checkSender, sentKey } from './http/check-sender';
import { ApiError } from './http/errors';
import { answerOddRequests, discardRest } from './http/odd-requests';
import { sendError } from './http/respond';
import type { Client } from './clients';
import { ListenError } from './listen-error';
import { startOf } from '../contracts/clean-text';

const OPTIONS = {
  keepAliveTimeout: 75_000,
  requestTimeout: 0,
  headersTimeout: 15_000,
  noDelay: true,
  // Node's own refusal has no body. `checkHost` refuses with a body.
  requireHostHeader: false,
};

/** The HTTP servers of a gateway. They start listening with `listen` and `listenForOperators`. */
export class GatewayServer {
  readonly http: Server;
  /** Serves /metrics and the other routes for operators; null while it does not listen. */
  private admin: Server | null = null;
  private inFlight = 0;
  private idle: (() => void) | null = null;

  constructor(private readonly gateway: Gateway) {
    this.http = createServer(OPTIONS, (request, response) => {
      void this.answer(request, response);
    });
    answerOddRequests(this.http);
  }

  /** Resolves with the port of the API; `port` 0 takes a free one. Rejects with ListenError if it cannot listen. */
  listen(host: string, port: number): Promise<number> {
    return listenOn(this.http, 'host', host, port);
  }

  /** The same for the port of operators. From then on the API's port does not answer these routes. */
  listenForOperators(host: string, port: number): Promise<number> {
    this.admin = createServer(OPTIONS, (request, response) => {
      this.answerOperator(request, response).catch((error: unknown) => this.fail(response, error, {}));
    });
    answerOddRequests(this.admin);
    return listenOn(this.admin, 'admin.host', host, port);
  }

  /**
   * For `unreadyMs`, reports not ready but continues to serve, so that load balancers remove the gateway. Then it
   * accepts no more connections, waits up to `limitMs` for the requests in flight, and closes all connections. Resolves
   * with the number of requests that were cut off. `hurry` ends the first wait.
   */
  async drain(limitMs: number, unreadyMs = 0, hurry?: AbortSignal): Promise<number> {
    this.gateway.draining = true;
    if (unreadyMs > 0) await sleep(unreadyMs, undefined, hurry ? { signal: hurry } : {}).catch(() => undefined);
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
    const { admin } = this;
    if (admin !== null) {
      admin.closeAllConnections();
      await new Promise<void>((resolve) => admin.close(() => resolve()));
    }
    return cut;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.inFlight += 1;
    if (this.gateway.draining) response.setHeader('connection', 'close');
    try {
      await this.dispatch(request, response);
    } catch (error) {
      this.fail(response, error, {}, INFERENCE_ROUTES[pathOf(request)]);
    } finally {
      if (!request.complete) discardRest(request);
      this.inFlight -= 1;
      if (this.inFlight === 0) this.idle?.();
    }
  }

  private async dispatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkHost(request);
    const path = pathOf(request);
    const inference = INFERENCE_ROUTES[path];
    const local = LOCAL_ROUTES[path];
    if (inference === undefined && local === undefined) throw unknownRoute(path);
    const { keys, allowedHosts } = this.gateway.config;
    const isInside = this.admin === null && keys.length === 0;
    if (local?.isAdmin === true && !isInside)
      throw new ApiError(404, `${path} is on the port that admin in gateway.yaml names.`, { code: 'unknown_route' });
    if (keys.length === 0) checkSender(request, allowedHosts);
    const method = inference === undefined ? local?.method : 'POST';
    if (methodOf(request) !== method) throw wrongMethod(path, method, request);
    if (local?.isPublic === true) return local.answer(this.gateway, request, response, null, isInside);
    const client = this.gateway.clients.identify(sentKey(request));
    if (method === 'POST') checkContentType(request);
    if (local !== undefined) return local.answer(this.gateway, request, response, client, isInside);
    client.enter();
    try {
      if (inference !== undefined) await this.infer(request, response, client, inference);
    } finally {
      client.release();
    }
  }

  private async answerOperator(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkHost(request);
    const path = pathOf(request);
    const local = LOCAL_ROUTES[path];
    if (local?.isPublic !== true) throw unknownRoute(path);
    if (methodOf(request) !== local.method) throw wrongMethod(path, local.method, request);
    await local.answer(this.gateway, request, response, null, true);
  }

  private async infer(
    request: IncomingMessage,
    response: ServerResponse,
    client: Client,
    route: InferenceRoute,
  ): Promise<void> {
    const { metrics, memory } = this.gateway;
    const exchange = new Exchange(request, response, client, memory.lease(), memory.lease());
    metrics.inFlight.inc();
    exchange.span = this.gateway.deps.tracing?.start(request, OPERATIONS[route.path]) ?? null;
    let status = '499';
    try {
      if (await handleInference(this.gateway, exchange, route)) status = String(response.statusCode);
    } catch (error) {
      status = String(this.fail(response, error, exchange.headers(), route));
    } finally {
      exchange.memory.end();
      // A slow client has not received everything yet.
      if (response.writableFinished || response.destroyed) exchange.answerMemory.end();
      else response.once('close', () => exchange.answerMemory.end());
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
   * Answers with the error and returns the status. The client only sees the text of an ApiError. Any other error is a
   * fault of the gateway and is logged.
   */
  private fail(
    response: ServerResponse,
    error: unknown,
    headers: Record<string, string>,
    { dialect = chatDialect }: Pick<InferenceRoute, 'dialect'> = {},
  ): number {
    if (error instanceof ApiError) {
      sendError(response, error, headers, dialect);
      return error.status;
    }
    if (response.destroyed || response.socket === null || response.socket.destroyed) return 499;
    this.gateway.deps.log.error(
      { error: error instanceof Error ? error.stack : String(error) },
      'a request failed in the gateway itself',
    );
    const failed = new ApiError(500, 'The gateway failed; its log says why.', { code: 'gateway_error' });
    sendError(response, failed, headers, dialect);
    return 500;
  }
}

async function listenOn(server: Server, field: 'host' | 'admin.host', host: string, port: number): Promise<number> {
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    throw new ListenError(field, `${host}:${port}`, error as Error);
  }
  return (server.address() as AddressInfo).port;
}

const pathOf = ({ url = '/' }: IncomingMessage): string => url.split('?', 1)[0] as string;

/** Monitors ask with HEAD: it is answered as GET is, and Node leaves out the body. */
const methodOf = ({ method }: IncomingMessage): string | undefined => (method === 'HEAD' ? 'GET' : method);

const unknownRoute = (path: string) =>
  new ApiError(404, `There is no route ${startOf(path, 100)}.`, { code: 'unknown_route' });

const wrongMethod = (path: string, method: string | undefined, request: IncomingMessage) =>
  new ApiError(405, `${path} takes ${method}, not ${request.method}.`, {
    code: 'method_not_allowed',
    headers: { allow: method ?? '' },
  });

/** `gen_ai.operation.name` of OpenTelemetry's semantic conventions, by route. */
const OPERATIONS = {
  '/chat/completions': 'chat',
  '/completions': 'text_completion',
  '/embeddings': 'embeddings',
  '/tokenize': 'count_tokens',
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
