import type { ApplicationFailure } from '@temporalio/common';
import type { FailureType } from '../../contracts/failures/run';
import { readErrorBody, saysFiltered, saysTooLong } from '../../contracts/messages/read-error';
import { retryAfterMs } from '../../contracts/retry-after';
import { failure } from '../../contracts/typed-failure';

/**
 * Why a call of the model endpoint failed. `unreachable`: the same call may succeed later. `failed`: so it may, unless
 * this conversation is what makes the server fail. `slow`: the request was taken, and nothing was sent for as long as
 * its answer may take. `unknown-model`: the server does not serve this name (a restarted server has lost its adapters).
 * `too-long`: the conversation is longer than the model's context. `conversation`: the server refuses this
 * conversation, and may answer others. `changed`: another model is served than the run began with. `unauthorised`: the
 * server does not take the API key. `refused`: the same call will fail again.
 */
export type ModelFaultKind =
  | 'unreachable'
  | 'failed'
  | 'slow'
  | 'unknown-model'
  | 'too-long'
  | 'conversation'
  | 'changed'
  | 'unauthorised'
  | 'refused';

/** A failed call of the model endpoint. */
export class ModelFault extends Error {
  constructor(
    readonly kind: ModelFaultKind,
    message: string,
    /** How long the server asked to wait. */
    readonly retryAfterMs?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ModelFault';
  }
}

/** The parts of a failed HTTP answer that `faultOfAnswer` reads. */
export interface FailedAnswer {
  status: number;
  body: string;
  /** The headers of these names. */
  retryAfter?: string | undefined;
  retryAfterMs?: string | undefined;
}

/** The hint for an address without a model server. */
export const ADDRESS_HINT = 'Check model.baseUrl: it normally ends in /v1.';

/** Statuses of proxies that gave up waiting. */
const GAVE_UP = new Set([408, 504, 524]);
const GAVE_UP_HINT = ' A proxy in front of it gave up waiting: raise its limit where answers take longer.';

/** Phrases of servers that answer 400 for an unknown model. */
const UNKNOWN_MODEL =
  /\b(unknown|invalid|no such) (model|adapter)\b|\b(models?|adapter)\b.{0,200}\b(does not exist|not exist|not found|is not served)|\bnot a valid model\b/i;
const BAD_KEY =
  /\b(invalid|incorrect|missing|no) API.?key\b|\bAPI.?key (is )?(not valid|invalid|missing|required|expired)/i;

/** Statuses of servers that are busy or whose own server failed: 409 and 423 of locks, 424 of TGI, 498 of Groq. */
const BUSY = new Set([408, 409, 423, 425, 429, 498]);
/** Statuses of a server that failed while it worked on this request. */
const FAILED = new Set([424, 500]);

/** The fault for an HTTP answer other than 2xx. `url` is only used in the message. */
export function faultOfAnswer({ status, body, ...headers }: FailedAnswer, url: string): ModelFault {
  const error = readErrorBody(body);
  const { message, code } = error;
  const said = message ? `: ${message}` : '.';
  const isOfRequest = status === 400 || status === 413 || status === 422;
  if (isOfRequest && saysTooLong(error))
    return new ModelFault('too-long', `The conversation is too long for the model at ${url}${said}`);
  if (
    (status === 404 && (code === 'model_not_found' || /\bmodels?\b|\badapter\b/i.test(message))) ||
    (isOfRequest && (code === 'model_not_found' || UNKNOWN_MODEL.test(message)))
  ) {
    return new ModelFault('unknown-model', `The model server at ${url} does not serve the model${said}`);
  }
  if (BUSY.has(status) || FAILED.has(status) || status >= 500) {
    return new ModelFault(
      FAILED.has(status) ? 'failed' : 'unreachable',
      `The model server at ${url} answered ${status}${said}${GAVE_UP.has(status) ? GAVE_UP_HINT : ''}`,
      retryAfterMs({ ms: headers.retryAfterMs, after: headers.retryAfter }, Date.now()) ?? undefined,
    );
  }
  const isFiltered = status === 403 && saysFiltered(error);
  if (status === 402) {
    return new ModelFault(
      'unauthorised',
      `The model server at ${url} says that the credit of the API key is used up (402)${said} Add credit, or set ` +
        'WHET_MODEL_API_KEY of the worker to another key and start it again; then `whet retry RUN`.',
    );
  }
  if (
    (!isFiltered && (status === 401 || status === 403)) ||
    (status === 400 && (code === 'invalid_api_key' || BAD_KEY.test(message)))
  ) {
    return new ModelFault(
      'unauthorised',
      `The model server at ${url} refused the API key with ${status}${said} Set WHET_MODEL_API_KEY of the worker to a ` +
        'key that it accepts, start the worker again, then `whet retry RUN`.',
    );
  }
  const isOfAddress = status < 400 || status === 404 || status === 405;
  return new ModelFault(
    isOfAddress ? 'refused' : 'conversation',
    `The model server at ${url} refused the request with ${status}${said}${isOfAddress ? ` ${ADDRESS_HINT}` : ''}`,
  );
}

/** Codes of the HTTP client for a server that took a request and was silent, before and behind its headers. */
const SILENCES: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_TIMEOUT: 'did not answer',
  UND_ERR_BODY_TIMEOUT: 'began to answer, and then sent nothing',
};
/** Code of the HTTP client for an answer that is longer than any it reads. */
const TOO_LONG = 'UND_ERR_RES_EXCEEDED_MAX_SIZE';
/** Codes for a server that is not there. */
const ABSENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'is down: the connection was refused',
  ENOTFOUND: 'is not there: its name has no address',
  EAI_AGAIN: 'is not there: its name could not be looked up',
  UND_ERR_CONNECT_TIMEOUT: 'is not there: no connection came about',
  EHOSTUNREACH: 'is not there: no way leads to its address',
  ENETUNREACH: 'is not there: no way leads to its address',
};

/**
 * The fault for an exception of the HTTP client: there was no answer.
 * @param waitedMs how long an answer may take; absent: a question that every server that works answers at once.
 */
export function faultOfException(error: unknown, url: string, waitedMs?: number): ModelFault {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === TOO_LONG)
    return new ModelFault('failed', `The model server at ${url} sent an answer without an end.`, undefined, {
      cause: error,
    });
  const silence = SILENCES[code ?? ''];
  const isSlow = silence !== undefined && waitedMs !== undefined;
  const what = isSlow
    ? `${silence} for ${waitedMs / 1000} s`
    : `${ABSENCES[code ?? ''] ?? 'did not answer'} (${code ?? message ?? String(error)})`;
  return new ModelFault(isSlow ? 'slow' : 'unreachable', `The model server at ${url} ${what}.`, undefined, {
    cause: error,
  });
}

const FAILURE_TYPES: Record<ModelFaultKind, FailureType> = {
  unreachable: 'Model.Unreachable',
  slow: 'Model.Slow',
  failed: 'Model.Unreachable',
  'unknown-model': 'Model.Refused',
  'too-long': 'Model.Refused',
  conversation: 'Model.Refused',
  changed: 'Model.Changed',
  unauthorised: 'Model.Unauthorised',
  refused: 'Model.Refused',
};

/** The failure that Temporal sees. */
export function modelFailure(fault: ModelFault): ApplicationFailure {
  const type = FAILURE_TYPES[fault.kind];
  return failure(type, fault.message, {
    cause: fault,
    ...(fault.retryAfterMs === undefined ? {} : { nextRetryDelay: fault.retryAfterMs }),
  });
}
