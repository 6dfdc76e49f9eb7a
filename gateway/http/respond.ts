import type { ServerResponse } from 'node:http';
import { chatDialect, type Dialect } from '../../dialects';
import type { ApiError } from './errors';

/** Sends a JSON answer. Does nothing if an answer has begun or the client has disconnected. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  sendBytes(response, status, Buffer.from(JSON.stringify(value)), { 'content-type': 'application/json', ...headers });
}

/** Sends a complete answer. Does nothing if an answer has begun or the client has disconnected. */
export function sendBytes(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Record<string, string | string[]>,
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { ...headers, 'content-length': body.length });
  response.end(body);
}

/**
 * Sends an error in the dialect of the request, by default OpenAI's. Does nothing if an answer has begun or the client
 * has disconnected.
 */
export function sendError(
  response: ServerResponse,
  error: ApiError,
  headers: Record<string, string> = {},
  dialect: Dialect = chatDialect,
): void {
  sendJson(response, error.status, error.body(dialect), { ...headers, ...error.headers });
}
