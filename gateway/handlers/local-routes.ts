/** Routes that are not forwarded: models, outcomes, health, metrics and the OpenAPI document. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Outcome, outcomeSchema } from '../../contracts/config/gateway-config';
import { schemaProblems } from '../../loaders/schema-problems';
import { cacheKey } from '../conversations';
import type { Gateway } from '../gateway';
import { ApiError } from '../http/errors';
import { readBody } from '../http/read-body';
import { sendBytes, sendJson } from '../http/respond';
import type { Client } from '../clients';
import { openApi } from './openapi';
import { modelNames } from '../agents/resolve-model';

/** A route that the gateway answers itself. */
export interface LocalRoute {
  method: 'GET' | 'POST';
  /** Whether it needs no API key. For probes and scrapers inside the deployment. */
  isPublic: boolean;
  /** Answers a request. `client` is null where the route is public. Rejects with ApiError. */
  answer(
    gateway: Gateway,
    request: IncomingMessage,
    response: ServerResponse,
    client: Client | null,
  ): Promise<void> | void;
}

/** Seconds since 1970; OpenAI's list of models wants a time of creation. */
const STARTED = Math.floor(Date.now() / 1000);

/** Routes that the gateway answers itself, by path. */
export const LOCAL_ROUTES: Record<string, LocalRoute> = {
  '/v1/models': {
    method: 'GET',
    isPublic: false,
    answer(gateway, _request, response, client) {
      const data =
        client === null
          ? []
          : modelNames(gateway.agents, client).map((model) => ({ ...model, object: 'model', created: STARTED }));
      sendJson(response, 200, { object: 'list', data });
    },
  },
  '/v1/outcomes': {
    method: 'POST',
    isPublic: false,
    async answer(gateway, request, response, client) {
      const { limits, timeouts } = gateway.config;
      const { conversation, reward } = parseOutcome(
        (await readBody(request, limits.bodyBytes, timeouts.requestBodyMs)).bytes,
      );
      for (const [agent, state] of gateway.agents) {
        const key = cacheKey(client?.name ?? '', agent, conversation);
        gateway.traces.outcome(state, key, reward);
        const decision = gateway.decisions.get(key);
        if (decision === undefined) continue;
        return sendJson(response, 200, {
          object: 'outcome',
          conversation,
          ...(await gateway.canaries.add(agent, key, decision, reward)),
        });
      }
      sendJson(response, 200, {
        object: 'outcome',
        conversation,
        counted: false,
        reason: 'the conversation is not known here',
      });
    },
  },
  '/healthz': {
    method: 'GET',
    isPublic: true,
    answer: (_gateway, _request, response) => sendJson(response, 200, { status: 'ok' }),
  },
  '/readyz': {
    method: 'GET',
    isPublic: true,
    answer(gateway, _request, response) {
      const missing = gateway.unready();
      sendJson(
        response,
        missing.length === 0 ? 200 : 503,
        missing.length === 0 ? { status: 'ready' } : { status: 'not ready', missing },
      );
    },
  },
  '/openapi.json': {
    method: 'GET',
    isPublic: true,
    answer: ({ agents }, _request, response) =>
      sendJson(response, 200, openApi([...agents.keys()].flatMap((name) => [name, `${name}@base`]))),
  },
  '/metrics': {
    method: 'GET',
    isPublic: true,
    async answer({ metrics }, _request, response) {
      sendBytes(response, 200, Buffer.from(await metrics.registry.metrics()), {
        'content-type': metrics.registry.contentType,
      });
    },
  },
};

/** Reads a posted outcome. Throws ApiError 400 that names the field and what is allowed. */
function parseOutcome(body: Buffer): Outcome {
  let raw: unknown;
  try {
    raw = JSON.parse(body.toString('utf8'));
  } catch {
    throw new ApiError(400, 'The request body is not JSON.', { code: 'invalid_json' });
  }
  const parsed = outcomeSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [problem] = schemaProblems(parsed.error, raw, outcomeSchema);
  throw new ApiError(400, `${problem?.path ?? ''}: ${problem?.message ?? 'is not allowed.'}`.slice(0, 400), {
    param: problem?.path ?? null,
  });
}
