import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../http/errors';

/** Of larger answers, such as embeddings, only the first and last bytes are checked. */
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

/** The error in a body in OpenAI's format or vLLM's older one; null when the body is anything else. */
function errorOf(body: Buffer): UpstreamError | null {
  try {
    const value = JSON.parse(body.toString('utf8')) as { error?: unknown; message?: unknown } | null;
    const error = value?.error ?? (typeof value?.message === 'string' ? value : null);
    return typeof error === 'object' && error !== null ? error : null;
  } catch {
    return null;
  }
}

/** Whether the body of a 404 says that the model is unknown, and not the route. */
export function saysUnknownModel(body: Buffer): boolean {
  const error = errorOf(body);
  return (
    error !== null &&
    (error.code === 'model_not_found' ||
      /model .*does not exist/i.test(typeof error.message === 'string' ? error.message : ''))
  );
}

/**
 * The error for a client whose request a model server refused. It keeps the server's message, which is about the
 * client's own request, `param`, `code` and `retry-after`.
 */
export function refusalOf(status: number, headers: IncomingHttpHeaders, body: Buffer): ApiError {
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
