import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../http/errors';

/** Larger answers (embeddings) are only looked at from both ends. */
const PARSED_BYTES = 64_000;

/** Whether an answer is a JSON object. */
export function isJsonObject(body: Buffer): boolean {
  if (body.length > PARSED_BYTES) {
    return (
      body.subarray(0, 64).toString('latin1').trimStart().startsWith('{') &&
      body.subarray(-64).toString('latin1').trimEnd().endsWith('}')
    );
  }
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

interface UpstreamError {
  message?: unknown;
  param?: unknown;
  code?: unknown;
}

/** The error object of a body in OpenAI's format, or in vLLM's older one; null for anything else. */
function errorOf(body: Buffer): UpstreamError | null {
  try {
    const value = JSON.parse(body.toString('utf8')) as { error?: unknown; message?: unknown } | null;
    const error = value?.error ?? (typeof value?.message === 'string' ? value : null);
    return typeof error === 'object' && error !== null ? error : null;
  } catch {
    return null;
  }
}

/** Whether a 404 is about the model's name, not about the route. */
export function saysUnknownModel(body: Buffer): boolean {
  const error = errorOf(body);
  return (
    error !== null &&
    (error.code === 'model_not_found' ||
      /model .*does not exist/i.test(typeof error.message === 'string' ? error.message : ''))
  );
}

/**
 * A model server's refusal for the client. Its message is about the client's own request, so it goes on; the rest is
 * written anew.
 */
export function passedOnError(status: number, headers: IncomingHttpHeaders, body: Buffer): ApiError {
  const error = errorOf(body);
  const message =
    typeof error?.message === 'string' ? error.message : `The model server refused the request with status ${status}.`;
  const retryAfter = headers['retry-after'];
  return new ApiError(status, message, {
    param: typeof error?.param === 'string' ? error.param : null,
    code: typeof error?.code === 'string' ? error.code : null,
    headers: typeof retryAfter === 'string' ? { 'retry-after': retryAfter } : {},
  });
}
