/** Everything that is not forwarded: models, outcomes, health, metrics. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gateway } from './gateway';
import { sendBytes, sendJson } from './http/respond';
import type { Client } from './keys';
import { modelNames } from './resolve-model';

/** A route that the gateway answers itself. */
export interface PlainRoute {
  method: 'GET' | 'POST';
  /** Needs no key: for probes and scrapers inside the deployment. */
  isPublic: boolean;
  answer(gateway: Gateway, request: IncomingMessage, response: ServerResponse, client: Client | null): Promise<void> | void;
}

const STARTED = Math.floor(Date.now() / 1000);

export const PLAIN_ROUTES: Record<string, PlainRoute> = {
  '/v1/models': {
    method: 'GET',
    isPublic: false,
    answer(gateway, _request, response, client) {
      const data = client === null ? [] : modelNames(gateway.agents, client).map((model) => ({ ...model, object: 'model', created: STARTED }));
      sendJson(response, 200, { object: 'list', data });
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
      sendJson(response, missing.length === 0 ? 200 : 503, missing.length === 0 ? { status: 'ready' } : { status: 'not ready', missing });
    },
  },
  '/metrics': {
    method: 'GET',
    isPublic: true,
    async answer({ metrics }, _request, response) {
      sendBytes(response, 200, Buffer.from(await metrics.registry.metrics()), { 'content-type': metrics.registry.contentType });
    },
  },
};

/** Answers a plain route. */
export async function handlePlain(
  gateway: Gateway,
  route: PlainRoute,
  request: IncomingMessage,
  response: ServerResponse,
  client: Client | null,
): Promise<void> {
  await route.answer(gateway, request, response, client);
}
