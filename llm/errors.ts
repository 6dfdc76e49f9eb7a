import { ApplicationFailure } from '@temporalio/common';
import { APIConnectionTimeoutError, APIError } from 'openai';
import type { FailureType } from '../contracts/failures/run';
import { hideSecretIn } from '../contracts/hide-secret';
import { saysFiltered, saysTooLong } from '../contracts/messages/read-error';
import { retryAfterMs } from '../contracts/retry-after';
import { failure } from '../contracts/typed-failure';
import { startOf } from '../contracts/clean-text';
import type { AnalystUsage, MalformedDetail, Refusal } from './analyst';

/** The target of a call, for error messages. */
export interface AnalystPlace {
  endpoint: string;
  model: string;
  /** The API key of the call, which no message repeats. */
  apiKey?: string;
  /** Time limit for the answer, in milliseconds. */
  timeoutMs?: number;
}

/** `details[0]` of the failures that `toAnalystFailure` makes. */
export interface AnalystFailureDetail {
  /** HTTP status; null if no answer came. */
  status: number | null;
  /** The endpoint's own error code, such as `context_length_exceeded`. */
  code: string | null;
  /** The endpoint answered another prompt in the same form, at this cost. */
  otherPrompt?: AnalystUsage;
}

const MAX_QUOTE = 300;
/** Before an endpoint's own words. */
const SAID = ' It said: ';
/** Code of an analyst with recorded answers: address, model and form are right, but this answer is not recorded. */
const UNKNOWN_QUESTION = 'unknown_question';
/**
 * Delay in milliseconds before Temporal retries if the key's quota is used up, because this does not change within
 * seconds.
 */
const QUOTA_RETRY_MS = 300_000;

/**
 * Maps an error of the `openai` client to a failure of the catalogue, with the error as its cause. `now` (milliseconds
 * since the epoch) is only used for HTTP dates in Retry-After.
 */
export function toAnalystFailure(error: unknown, place: AnalystPlace, now: number = Date.now()): ApplicationFailure {
  const cause = hideSecretIn(error instanceof Error ? error : new Error(String(error)), place.apiKey);
  const api = error instanceof APIError ? (error as APIError) : null;
  const status = api?.status ?? null;
  const detail: AnalystFailureDetail = { status, code: api?.code ?? null };
  const make = (type: FailureType, message: string, retryMs?: number | null) =>
    failure(type, message, {
      cause,
      details: [detail],
      ...(retryMs == null ? {} : { nextRetryDelay: Math.round(retryMs) }),
    });
  const here = `The analyst at ${place.endpoint}`;
  const said = `${SAID}${quote(cause.message)}`;

  const headers = api?.headers;
  const wait = retryAfterMs({ ms: headers?.get('retry-after-ms'), after: headers?.get('retry-after') }, now);
  if (status === 429 || status === 402) {
    if (detail.code === 'insufficient_quota' || status === 402) {
      return make(
        'Analyst.RateLimited',
        `${here} says that the quota of this API key is used up: add credit or use another key.${said}`,
        wait ?? QUOTA_RETRY_MS,
      );
    }
    return make('Analyst.RateLimited', `${here} asked us to slow down (429).${said}`, wait);
  }
  const isFiltered = status === 403 && saysFiltered({ ...detail, message: cause.message });
  if (status === 401 || (status === 403 && !isFiltered)) {
    return make(
      'Analyst.Unauthorised',
      `${here} refused the API key (${status}): set OPENAI_API_KEY to a key that may use model ` +
        `${place.model}.${said}`,
    );
  }
  if (status !== null && (status >= 500 || TEMPORARY.has(status)))
    return make('Analyst.Unavailable', `${here} failed (${status}).${said}`, wait);
  if (detail.code === UNKNOWN_QUESTION)
    return make('Analyst.BadRequest', `${here} has no answer to this question.${said}`);
  if (status !== null) {
    return make(
      'Analyst.BadRequest',
      `${here} called our request for model ${place.model} wrong (${status}): check the ` +
        `address, analyst.model and that it supports structured outputs.${said}`,
    );
  }
  if (error instanceof APIConnectionTimeoutError) {
    return make(
      'Analyst.Unavailable',
      `${here} did not answer ${place.timeoutMs === undefined ? 'in time' : `within ${place.timeoutMs / 1000} s`}: ` +
        'raise analyst.timeoutSeconds if its answers take longer.',
    );
  }
  if (error instanceof SyntaxError) {
    return make('Analyst.Unavailable', `${here} answered something that is not JSON.${said}`);
  }
  return make(
    'Analyst.Unavailable',
    `${here} could not be reached: check that it runs and that the address is right.${said}`,
  );
}

/** Gateways answer 408 when they gave up, and 409 or 423 when they hold a lock. 424 is TGI's 500, 498 is Groq's 503. */
const TEMPORARY = new Set([408, 409, 423, 424, 425, 498]);

/** Statuses with which gateways say that the analyst itself took too long. */
const TOO_LATE = new Set([408, 504, 524]);

/** Whether a request was lost: it was sent, but no answer came in time. The endpoint may have billed it. */
export const isLost = (error: unknown): boolean =>
  error instanceof APIConnectionTimeoutError || (error instanceof APIError && TOO_LATE.has(Number(error.status)));

const detailOf = (error: ApplicationFailure) => error.details?.[0] as AnalystFailureDetail | undefined;

/** Whether an endpoint failed while it worked on the request; another request may pass. */
export const failsAtRequest = (error: ApplicationFailure): boolean => [424, 500].includes(detailOf(error)?.status ?? 0);

/** Whether an endpoint refused the prompt or the form of a request. */
export const isRefused = (error: unknown): boolean =>
  error instanceof ApplicationFailure && [400, 422].includes(detailOf(error)?.status ?? 0);

/** Whether a failure may concern its prompt alone, which is only known where another one is answered. */
export const mayBeOfPrompt = (error: ApplicationFailure): boolean =>
  !refusesPromptOnly(error) && (failsAtRequest(error) || isRefused(error));

/** The failure as one of its prompt alone. */
export const ofPromptOnly = (error: ApplicationFailure, otherPrompt: AnalystUsage): ApplicationFailure =>
  failure('Analyst.BadRequest', `${error.message} It answers other prompts.`, {
    ...(error.cause && { cause: error.cause }),
    details: [{ ...detailOf(error), otherPrompt }],
  });

/** Codes with which endpoints refuse a prompt because of its content; another prompt may pass. */
const PROMPT_CODES = new Set([
  'context_length_exceeded',
  'string_above_max_length',
  'content_filter',
  'content_policy_violation',
]);

/** Words with which endpoints refuse characters of a prompt, such as half of a surrogate pair. */
const BAD_CHARACTERS = new RegExp(
  [
    String.raw`\bsurrogates?\b|\bhex escape\b|\bstring escape\b|\bcontrol character\b|\bbody is not valid JSON\b`,
    String.raw`\b(?:invalid|unsupported|illegal|malformed|ill-formed|bad|not valid)\b.{0,40}\b(?:unicode|utf-?8)\b`,
    String.raw`\b(?:unicode|utf-?8)\b.{0,40}\b(?:invalid|error|malformed|codec)\b|\bparse the JSON body\b`,
  ].join('|'),
  'i',
);

/** Whether the endpoint refused only this prompt: for its length, its content, or its characters. */
export function refusesPromptOnly(error: ApplicationFailure): boolean {
  const detail = detailOf(error);
  if (error.type !== 'Analyst.BadRequest') return false;
  if (detail?.otherPrompt !== undefined || detail?.status === 413 || PROMPT_CODES.has(detail?.code ?? '')) return true;
  const said = { message: error.message.split(SAID)[1] ?? '', code: detail?.code ?? null };
  const isOfRequest = detail?.status === 400 || detail?.status === 422;
  return saysTooLong(said) || saysFiltered(said) || (isOfRequest && BAD_CHARACTERS.test(said.message));
}

/**
 * Reads an error that concerns only this question: no valid answer after all re-asks, or a prompt that the endpoint
 * does not accept. Null for every other error.
 */
export function refusalOfOneQuestion(error: unknown): Refusal | null {
  if (!(error instanceof ApplicationFailure)) return null;
  if (error.type === 'Analyst.Malformed') {
    const { problems, usage, asks, tries, redacted } = error.details?.[0] as MalformedDetail;
    return { reason: `No valid answer: ${problems}`, usage, asks, tries, redacted };
  }
  const usage = detailOf(error)?.otherPrompt ?? { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  return refusesPromptOnly(error) ? { reason: error.message, usage, asks: 1, tries: 1, redacted: {} } : null;
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_QUOTE ? `${startOf(line, MAX_QUOTE)}…` : line;
}
