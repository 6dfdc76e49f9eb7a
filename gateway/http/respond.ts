import type { ServerResponse } from 'node:http';
import type { ApiError } from './errors';

/** Writes a JSON answer. Does nothing when an answer has begun or the client has gone. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  sendBytes(response, status, Buffer.from(JSON.stringify(value)), { 'content-type': 'application/json', ...headers });
}

/** Writes a whole answer. Does nothing when an answer has begun or the client has gone. */
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

/** Writes an error in OpenAI's format. */
export function sendError(response: ServerResponse, error: ApiError, headers: Record<string, string> = {}): void {
  sendJson(response, error.status, error.body(), { ...headers, ...error.headers });
}
