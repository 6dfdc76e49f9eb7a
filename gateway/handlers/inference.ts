/** POST /v1/chat/completions and the other routes of a model: resolve the model, route, forward, answer. */
import type { IncomingMessage } from 'node:http';
import { GATEWAY_HEADERS } from '../../contracts/config/gateway-config';
import { COUNT_TOKENS_PATH, type Dialect, messagesDialect, responsesDialect } from '../../dialects';
import { conversationKey, wasChosen } from '../conversations';
import { countAnswers } from '../http/check-cost';
import { ApiError } from '../http/errors';
import {
  chatOpening,
  type InferenceRequest,
  type Opening,
  parseInference,
  promptOpening,
} from '../http/inference-request';
import { readBody, type ReceivedBody } from '../http/read-body';
import { sendBytes } from '../http/respond';
import type { Gateway } from '../gateway';
import { resolveModel } from '../agents/resolve-model';
import type { ClientState, OpenRelay } from '../upstream/attempt';
import { forward } from '../upstream/forward';
import { answerHeaders } from '../upstream/answer-headers';
import { SseRelay } from '../upstream/sse-relay';
import type { AnswerRecorder } from '../traces/sampler';
import type { Exchange, Routed } from './exchange';
import {
  AnswerTranslator,
  countRequest,
  refusalToCount,
  TOKEN_COUNT,
  translateRequest,
  type Translator,
} from './translated';

/** A route of OpenAI's API that is forwarded to a model server. */
export interface InferenceRoute {
  /** The model server's route, without /v1. */
  path: '/chat/completions' | '/completions' | '/embeddings' | '/tokenize';
  /** Reads the opening of the conversation. Null for requests without routing: the base model answers them. */
  opening: ((fields: Record<string, unknown>) => Opening) | null;
  /** Translated from and to `path`. Absent: requests and answers are passed on as they are. */
  dialect?: Dialect;
}

const counts = ({ path }: Pick<InferenceRoute, 'path'>): boolean => path === '/tokenize';

/** Routes that are forwarded, by path. */
export const INFERENCE_ROUTES: Record<string, InferenceRoute> = {
  '/v1/chat/completions': { path: '/chat/completions', opening: chatOpening },
  [responsesDialect.path]: { path: '/chat/completions', opening: chatOpening, dialect: responsesDialect },
  [messagesDialect.path]: { path: '/chat/completions', opening: chatOpening, dialect: messagesDialect },
  [COUNT_TOKENS_PATH]: { path: '/tokenize', opening: null, dialect: messagesDialect },
  '/v1/completions': { path: '/completions', opening: promptOpening },
  '/v1/embeddings': { path: '/embeddings', opening: null },
};

/**
 * Answers one inference request. Resolves with false if the client disconnected. Rejects with ApiError, but only while
 * nothing has been written to the client.
 */
export async function handleInference(gateway: Gateway, exchange: Exchange, route: InferenceRoute): Promise<boolean> {
  const { config } = gateway;
  const { request, response } = exchange;
  const client: ClientState = { gone: false, abort: null };
  response.once('close', () => {
    if (response.writableFinished) return;
    client.gone = true;
    client.abort?.();
  });
  const received = await exchange.waiting(
    readBody(request, config.limits.bodyBytes, config.timeouts.requestBodyMs, (bytes) => exchange.memory.take(bytes)),
  );
  const { routed, recorder, stream, body, translator } = await open(gateway, exchange, route, received);
  const { agent } = routed;
  const { baseModel, fallback, name } = agent.settings;
  const headers = upstreamHeaders(request, exchange.span);
  const releaseId = claimRequestId(headers, gateway.requestIds);
  const forwarded = exchange.waiting(
    forward({
      replicas: agent.replicas,
      adapter: routed.adapter,
      baseModel,
      fallback: routed.reason === 'pinned' ? 'error' : fallback,
      prefix: routed.conversation?.key ?? '',
      requestFor: (model) => ({
        method: 'POST',
        path: route.path,
        isBesideV1: counts(route),
        body: body.withModel(model),
        headers,
        model,
        answerBytes: config.limits.answerBytes,
        answerMemory: exchange.answerMemory,
        answerMs: config.timeouts.firstByteMs,
      }),
      openRelay: stream ? relayOpener(exchange, recorder, translator, config.timeouts.firstByteMs) : null,
      client,
      retries: config.retries,
      replicaMs: config.timeouts.replicaMs,
      onFallback: (reason) => {
        routed.adapter = null;
        routed.reason = reason;
        routed.standsIn = true;
        gateway.metrics.fallbacks.inc({ agent: name, reason });
      },
      onRetry: (reason) => gateway.metrics.retries.inc({ agent: name, reason }),
    }),
  );
  const result = await forwarded.finally(releaseId).catch((error: unknown) => {
    recorder?.end(false);
    throw counts(route) ? refusalToCount(error) : error;
  });
  if (result.kind !== 'whole') recorder?.end(result.kind === 'streamed' && result.complete);
  if (result.kind === 'client-gone') return false;
  if (result.kind === 'streamed') {
    if (!result.complete) gateway.metrics.cut.inc({ agent: name });
    return true;
  }
  recorder?.whole(result.body);
  const answer = translator?.whole(result.body, stream) ?? { body: result.body, type: 'application/json' as const };
  const sent = { ...answerHeaders(result.headers, answer.type), ...exchange.headers() };
  sendBytes(response, result.status, answer.body, sent);
  return true;
}

/**
 * Parses a body and decides its target. It does not return the parsed value, which may need many times the memory of
 * the body, while an answer may take minutes.
 */
async function open(gateway: Gateway, exchange: Exchange, route: InferenceRoute, received: ReceivedBody) {
  const sent = parseInference(received);
  const { dialect } = route;
  const asked = counts(route) ? countRequest(sent) : dialect === undefined ? sent : translateRequest(sent, dialect);
  const { answerBytes } = gateway.config.limits;
  const translator = counts(route)
    ? TOKEN_COUNT
    : dialect === undefined
      ? null
      : new AnswerTranslator(dialect, sent, answerBytes);
  exchange.client.enterFurther(countAnswers(asked.parsed, gateway.config.limits.choices) - 1);
  const { model, stream, body, parsedBytes } = asked;
  const size = dialect === undefined ? received.bytes.length : body.bytes.length + sent.parsedBytes;
  exchange.memory.take(size + parsedBytes);
  const routed = await decide(gateway, exchange, route, asked);
  exchange.routed = routed;
  exchange.span?.set({ 'gen_ai.request.model': model, 'gen_ai.request.stream': stream });
  const { agent, conversation } = routed;
  const answering = () => ({
    model: routed.adapter ?? agent.settings.baseModel,
    version: routed.version,
    ...(routed.standsIn && { standsIn: true as const }),
  });
  const isChat = conversation !== null && route.path === '/chat/completions';
  const recorder = isChat ? gateway.traces.recorderFor(agent, conversation, answering, asked) : null;
  exchange.memory.take(body.keepsParsed ? size + parsedBytes : size);
  return { routed, recorder, stream, body, translator };
}

async function decide(
  gateway: Gateway,
  exchange: Exchange,
  route: InferenceRoute,
  asked: InferenceRequest,
): Promise<Routed> {
  const { client, request } = exchange;
  const { agent, pin } = resolveModel(asked.model, gateway.agents, client);
  if (route.opening === null) {
    if (pin?.adapter != null && !counts(route))
      throw new ApiError(400, 'Embeddings come from the base model: name the agent, not an adapter.', {
        param: 'model',
      });
    return { agent, conversation: null, version: null, adapter: null, reason: 'base', standsIn: false };
  }
  const opening = route.opening(asked.parsed);
  const conversation = conversationKey(
    request.headers[GATEWAY_HEADERS.conversation],
    client.name,
    agent.settings.name,
    opening.texts,
  );
  if (pin !== null)
    return { agent, conversation, ...pin, reason: pin.adapter === null ? 'base' : 'pinned', standsIn: false };
  const { decision, sticky } = await agent.decide(conversation, opening);
  const { version, adapter, reason, arm } = decision;
  const parts = [reason, ...(arm === 'canary' ? ['canary'] : []), ...(sticky ? ['sticky'] : [])];
  return { agent, conversation, version, adapter, reason: parts.join('; '), standsIn: !wasChosen(decision) };
}

/** Headers of the request to a model server. They do not contain the client's API key. */
function upstreamHeaders({ headers }: IncomingMessage, span: Exchange['span']): Record<string, string> {
  const sent: Record<string, string> = { 'content-type': 'application/json', 'accept-encoding': 'identity' };
  for (const name of ['accept', 'traceparent', 'tracestate', 'x-request-id'] as const) {
    const value = headers[name];
    if (typeof value === 'string') sent[name] = value;
  }
  if (span !== null) sent['traceparent'] = span.traceparent;
  return sent;
}

/**
 * Leaves out a request id that another request under way has: model servers mix up the two. Returns what ends the use
 * of the id.
 */
function claimRequestId(headers: Record<string, string>, underWay: Set<string>): () => void {
  const { 'x-request-id': id } = headers;
  if (id === undefined) return () => undefined;
  if (underWay.has(id)) {
    delete headers['x-request-id'];
    return () => undefined;
  }
  underWay.add(id);
  return () => underWay.delete(id);
}

function relayOpener(
  exchange: Exchange,
  recorder: AnswerRecorder | null,
  translator: Translator | null,
  silentMs: number,
): OpenRelay {
  const { response } = exchange;
  return (headers) =>
    new SseRelay(response, {
      start: () => {
        exchange.stopWaiting();
        response.writeHead(200, { ...answerHeaders(headers, 'text/event-stream'), ...exchange.headers() });
      },
      onPiece: recorder === null ? null : (piece) => recorder.piece(piece),
      translation: translator?.stream() ?? null,
      silentMs,
      hold: (bytes) => exchange.answerMemory.take(bytes),
    });
}
