/** Routes that are not forwarded: models, outcomes, health, metrics and the OpenAPI document. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Outcome, outcomeSchema } from '../../contracts/config/gateway-config';
import { startOf } from '../../contracts/clean-text';
import { schemaProblems } from '../../loaders/schema-problems';
import { cacheKey } from '../conversations';
import type { Gateway } from '../gateway';
import { ApiError } from '../http/errors';
import { measureParsed } from '../http/measure-json';
import { readBody } from '../http/read-body';
import { sendBytes, sendJson } from '../http/respond';
import type { Client } from '../clients';
import { openApi } from './openapi';
import { agentsOf, modelNames } from '../agents/resolve-model';

/** Largest body of a posted outcome. */
const OUTCOME_BYTES = 8_192;

/** A route that the gateway answers itself. */
export interface LocalRoute {
  method: 'GET' | 'POST';
  /** Whether it reveals clients and servers. Then it is answered on the admin port, if there is one. */
  isAdmin?: boolean;
  /** Whether it needs no API key. Such routes are for probes and scrapers inside the deployment. */
  isPublic: boolean;
  /**
   * Answers a request. `client` is null if the route is public. `isInside` means that the request came on a port for
   * operators only. Rejects with ApiError.
   */
  answer(
    gateway: Gateway,
    request: IncomingMessage,
    response: ServerResponse,
    client: Client | null,
    isInside: boolean,
  ): Promise<void> | void;
}

/** Seconds since 1970, because OpenAI's list of models requires a time of creation. */
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
      client?.enterOutcome();
      const { bytes } = await readBody(request, OUTCOME_BYTES, gateway.config.timeouts.requestBodyMs);
      sendJson(response, 200, await takeOutcome(gateway, client?.name ?? '', parseOutcome(bytes)));
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
    answer(gateway, _request, response, _client, isInside) {
      const missing = gateway.unready();
      if (missing.length === 0) return sendJson(response, 200, { status: 'ready' });
      // Names of agents are only for operators, not for everyone who reaches the API.
      sendJson(response, 503, { status: 'not ready', ...(isInside ? { missing } : {}) });
    },
  },
  '/openapi.json': {
    method: 'GET',
    isPublic: true,
    answer({ agents, clients, config }, { headers: { authorization } }, response, _client, isInside) {
      const isUnknown = config.keys.length > 0 && authorization === undefined;
      const own = isInside || isUnknown ? [] : agentsOf(agents, clients.identify(authorization));
      const shown = isInside ? [...agents.values()] : own;
      sendJson(response, 200, openApi(shown.flatMap(({ settings: { name } }) => [name, `${name}@base`])));
    },
  },
  '/metrics': {
    method: 'GET',
    isAdmin: true,
    isPublic: true,
    async answer({ metrics }, _request, response) {
      sendBytes(response, 200, Buffer.from(await metrics.registry.metrics()), {
        'content-type': metrics.registry.contentType,
      });
    },
  },
};

/**
 * Counts an outcome for the conversation's agent, and resolves when its trace is written. Throws ApiError 400 when
 * several agents have a conversation of that name.
 */
async function takeOutcome(gateway: Gateway, client: string, { conversation, reward, agent }: Outcome) {
  const found = [...gateway.agents.values()].filter(({ settings: { name } }) => {
    const key = cacheKey(client, name, conversation);
    return (
      (agent === undefined || agent === name) && (gateway.decisions.get(key) !== undefined || gateway.traces.has(key))
    );
  });
  if (found.length > 1) {
    const names = found.map(({ settings }) => settings.name).join(', ');
    throw new ApiError(400, `agent is missing: conversations of ${names} have this name.`, { param: 'agent' });
  }
  const [served] = found;
  const answer = { object: 'outcome', conversation };
  if (served === undefined) return { ...answer, counted: false, reason: 'the conversation is not known here' };
  const { name } = served.settings;
  const key = cacheKey(client, name, conversation);
  const decision = gateway.decisions.get(key);
  const [receipt] = await Promise.all([
    decision === undefined
      ? { counted: false, reason: 'the conversation was not routed' }
      : gateway.canaries.add(name, key, decision, reward),
    gateway.traces.outcome(served, client, key, reward),
  ]);
  return { ...answer, agent: name, ...receipt };
}

/** Reads a posted outcome. Throws ApiError 400 that names the field and the allowed values. */
function parseOutcome(body: Buffer): Outcome {
  let raw: unknown;
  try {
    raw = JSON.parse(body.toString('utf8'));
  } catch {
    throw new ApiError(400, 'The request body is not JSON.', { code: 'invalid_json' });
  }
  if (typeof raw === 'object' && raw !== null) measureParsed(raw, body.length);
  const parsed = outcomeSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [problem] = schemaProblems(parsed.error, raw, outcomeSchema);
  const field = problem?.path || null;
  const where = field === null ? 'The request body' : `${field}:`;
  throw new ApiError(400, startOf(`${where} ${problem?.message ?? 'is not allowed.'}`, 400), {
    param: field,
  });
}
