import { ApplicationFailure } from '@temporalio/common';
import { APIConnectionTimeoutError, APIError } from 'openai';
import type { FailureType } from '../contracts/failures/run';
import { hideSecretIn } from '../contracts/hide-secret';
import { failure } from '../contracts/typed-failure';
import { startOf } from '../contracts/clean-text';
import type { MalformedDetail, Refusal } from './analyst';

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
 * The wait that a response asks for, in milliseconds: `retry-after-ms`, else `retry-after` in seconds or as an HTTP
 * date. Null if it has neither header, or none that is readable. `now` is in milliseconds since the epoch.
 */
export function retryAfterMs(headers: Headers | undefined, now: number): number | null {
  const milliseconds = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const value = headers?.get('retry-after');
  if (!value) return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

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

  if (status === 429) {
    const wait = retryAfterMs(api?.headers, now);
    if (detail.code === 'insufficient_quota') {
      return make(
        'Analyst.RateLimited',
        `${here} says that the quota of this API key is used up: add credit or use another key.${said}`,
        wait ?? QUOTA_RETRY_MS,
      );
    }
    return make('Analyst.RateLimited', `${here} asked us to slow down (429).${said}`, wait);
  }
  if (status === 401 || status === 403) {
    return make(
      'Analyst.Unauthorised',
      `${here} refused the API key (${status}): set OPENAI_API_KEY to a key that may use model ` +
        `${place.model}.${said}`,
    );
  }
  // Gateways answer 408 after waiting too long, and 409 while they hold a lock. Both are temporary.
  if (status !== null && (status >= 500 || status === 408 || status === 409)) {
    return make('Analyst.Unavailable', `${here} failed (${status}).${said}`, retryAfterMs(api?.headers, now));
  }
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

/** Statuses with which gateways say that the analyst itself took too long. */
const TOO_LATE = new Set([408, 504, 524]);

/** Whether a request was lost: it was sent, but no answer came in time. The endpoint may have billed it. */
export const isLost = (error: unknown): boolean =>
  error instanceof APIConnectionTimeoutError || (error instanceof APIError && TOO_LATE.has(Number(error.status)));

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
  const detail = error.details?.[0] as AnalystFailureDetail | undefined;
  if (error.type !== 'Analyst.BadRequest') return false;
  if (detail?.status === 413 || PROMPT_CODES.has(detail?.code ?? '')) return true;
  return (detail?.status === 400 || detail?.status === 422) && BAD_CHARACTERS.test(error.message.split(SAID)[1] ?? '');
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
  const nothing = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  if (refusesPromptOnly(error)) return { reason: error.message, usage: nothing, asks: 1, tries: 1, redacted: {} };
  return null;
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_QUOTE ? `${startOf(line, MAX_QUOTE)}…` : line;
}
