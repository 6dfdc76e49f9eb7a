import type { IncomingHttpHeaders } from 'node:http';
import { hideSecret } from '../../contracts/hide-secret';
import { isBrokenOff, statusOfError } from '../../contracts/messages/read-error';
import { ApiError } from '../http/errors';

/** For larger answers, such as embeddings, only the first and last bytes are checked. */
const PARSED_BYTES = 64_000;

/** Seconds, or a date (RFC 9110, section 10.2.3). */
const RETRY_AFTER = /^(?:\d{1,9}|[A-Za-z]{3,9}, [\w :-]{10,30})$/;

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
  type?: unknown;
}

/** The error that a JSON object holds: in OpenAI's format, vLLM's older one, a text, or that of a choice. */
export function errorIn(value: object): UpstreamError | null {
  const { error, error_type: type = error, message, choices } = value as Record<string, unknown>;
  if (typeof error === 'string' && error !== '') return { message: error, type };
  if (typeof error === 'object' && error !== null) return error;
  if (Array.isArray(choices)) {
    const failed = (choices as (UpstreamChoice | null)[]).find((choice) => isBrokenOff(choice?.finish_reason));
    return failed === undefined ? null : (failed?.error ?? {});
  }
  return typeof message === 'string' && !('data' in value) ? value : null;
}

interface UpstreamChoice {
  finish_reason?: unknown;
  error?: UpstreamError | null;
}

/** The error in a body; null when the body is anything else, or large. */
function errorOf(body: Buffer): UpstreamError | null {
  if (body.length > PARSED_BYTES) return null;
  try {
    const value = JSON.parse(body.toString('utf8')) as unknown;
    return typeof value === 'object' && value !== null ? errorIn(value) : null;
  } catch {
    return null;
  }
}

/** Whether a body is an error in spite of a status that says otherwise. */
export const isError = (body: Buffer): boolean => errorOf(body) !== null;

/** The status that an error would have if it had not come with status 200. */
export const statusOfBody = (body: Buffer): number => statusOfError(errorOf(body) ?? {});

/** Whether the body of a 404 says that the model is unknown, and not the route. */
export function saysUnknownModel(body: Buffer): boolean {
  const error = errorOf(body);
  return (
    error !== null &&
    (error.code === 'model_not_found' || (typeof error.message === 'string' && namesNoModel(error.message)))
  );
}

/**
 * Whether a message contains 'model ' and later 'does not exist'. Each is searched only once, because a server may send
 * a long message.
 */
function namesNoModel(message: string): boolean {
  const text = message.toLowerCase();
  const model = text.indexOf('model ');
  return model !== -1 && text.includes('does not exist', model);
}

/**
 * The error for a client whose request a model server refused. It keeps the server's message, which concerns the
 * client's own request, and `param`, `code` and `retry-after`. `secret` is the gateway's own key.
 */
export function refusalOf(status: number, headers: IncomingHttpHeaders, body: Buffer, secret: string | null): ApiError {
  const error = errorOf(body);
  // Before parsing, escapes may have hidden the secret.
  const text = (value: unknown): string | null => (typeof value === 'string' ? hideSecret(value, secret) : null);
  const message = text(error?.message) ?? `The model server refused the request with status ${status}.`;
  const retryAfter = headers['retry-after'];
  return new ApiError(status, message, {
    param: text(error?.param),
    code: text(error?.code),
    headers: typeof retryAfter === 'string' && RETRY_AFTER.test(retryAfter) ? { 'retry-after': retryAfter } : {},
  });
}
