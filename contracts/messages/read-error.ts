/** Reads the errors of model servers, which write them in many forms. Their words decide what a failure concerns. */

import { startOf } from '../clean-text';

/** What an error says. */
export interface SaidError {
  message: string;
  code: string | null;
}

/** Longest message, and longest text of a body that is no JSON, in characters. */
const MOST_MESSAGE = 500;
const MOST_TEXT = 200;
/** Deepest level at which a message is looked for. */
const LEVELS = 5;
/** Fields that hold the message, or another object that does. */
const MESSAGE_FIELDS = ['error', 'message', 'detail', 'errors', 'msg', 'Message', 'error_msg', 'fault', 'faultstring'];

/**
 * Message and code of an error's body. OpenAI wraps them in `{error: ...}`, older vLLM versions do not; others write a
 * text for the object, a list around it, or FastAPI's list of what is wrong with the request.
 */
export function readErrorBody(body: string): SaidError {
  try {
    return readError(JSON.parse(body));
  } catch {
    return { message: startOf(body.trim(), MOST_TEXT), code: null };
  }
}

function readError(value: unknown): SaidError {
  return { message: startOf(messageIn(value, LEVELS), MOST_MESSAGE), code: codeIn(value) };
}

function messageIn(value: unknown, levels: number): string {
  if (typeof value === 'string') return value;
  if (levels === 0) return '';
  if (Array.isArray(value)) return joined(value.map((one) => messageIn(one, levels - 1)));
  if (!isObject(value)) return '';
  const said = joined(MESSAGE_FIELDS.map((field) => messageIn(value[field], levels - 1)));
  const { loc, metadata } = value;
  if (Array.isArray(loc)) return `${loc.join('.')}: ${said}`;
  return isObject(metadata) && typeof metadata['raw'] === 'string' ? joined([said, metadata['raw']]) : said;
}

const joined = (texts: readonly string[]): string => [...new Set(texts.filter((text) => text !== ''))].join(': ');

function codeIn(value: unknown): string | null {
  const outer: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(outer)) return null;
  const { code } = isObject(outer['error']) ? outer['error'] : outer;
  return typeof code === 'string' ? code : null;
}

/**
 * What statuses the words and codes of an error stand for that has no status of its own. The first that fits decides.
 * FastChat's codes are a status and two further digits.
 */
const STATUS_WORDS: readonly [status: number, words: RegExp][] = [
  // Not in a sentence: 'CUDA error: invalid argument' is no fault of the request, and `check_permission` may be a tool.
  [404, /^\S*model_?not_?found\S*$/i],
  [429, /^\S*(?:rate.?limit|too.?many.?requests|insufficient.?quota)\S*$|^429\d\d$/i],
  [401, /^\S*(?:invalid.?api.?key|authentication|unauthori[sz]ed)\S*$|^401\d\d$/i],
  [403, /^\S*(?:permission|forbidden)\S*$/i],
  [503, /^\S*(?:overloaded|unavailable|server.?error|api.?error|internal|timeout)\S*$/i],
  [400, /^\S*(?:invalid|validation|bad_?request|context_?length|content_?(?:filter|policy)|unsupported)\S*$/i],
  [400, /^40[03]\d\d$/],
  // In a sentence too.
  [429, /\b(?:rate limit|too many requests|insufficient quota)\b/i],
  [401, /\b(?:invalid api key|unauthori[sz]ed)\b/i],
  [503, /\b(?:overloaded|unavailable)\b/i],
];

/**
 * The status that an error stands for which came with status 200: its own, that of its words, or 500. `error` is the
 * object with its code; for an error that is a text, one that has the text as its type.
 */
export function statusOfError(error: object): number {
  const { code, status, type } = error as Record<string, unknown>;
  const own = [code, status].map(String).find((one) => /^[45]\d\d$/.test(one));
  if (own !== undefined) return Number(own);
  const words = [code, status, type]
    .filter((one) => typeof one === 'string' || typeof one === 'number')
    .map((one) => startOf(String(one), MOST_MESSAGE));
  const known = STATUS_WORDS.find(([, pattern]) => words.some((word) => pattern.test(word)))?.[0];
  const said = readError(error);
  return known ?? (saysTooLong(said) || saysFiltered(said) ? 400 : 500);
}

/** How an answer ends that broke off at the server. */
const BROKEN_OFF = /^(?:[\w-]*error|abort\w*|cancel\w*|insufficient_system_resource)$/i;
/** How an answer ends of which the server held back a part. */
const HELD_BACK =
  /^(?:[\w-]*filter(?:ed)?|safety|sensitive|guardrail_intervened|recitation|prohibited_content|blocklist|spii)$/i;

/** Whether a reason for which an answer ended says that it broke off at the server. */
export const isBrokenOff = (reason: unknown): boolean => typeof reason === 'string' && BROKEN_OFF.test(reason);

/** Whether it says that the server held back a part of the answer. */
export const isHeldBack = (reason: unknown): boolean => typeof reason === 'string' && HELD_BACK.test(reason);

/**
 * The error that an answer with status 200 holds in place of a completion, with the status that it stands for; null
 * where there is none. Proxies answer so when a server fails after they have begun to answer. An answer that broke off
 * is such an error too: its beginning is not what the model would have said.
 */
export function errorInAnswer(answer: unknown): (SaidError & { status: number }) | null {
  if (!isObject(answer)) return null;
  const choices = Array.isArray(answer['choices']) ? (answer['choices'] as unknown[]) : [];
  const [choice] = choices;
  if (!isObject(choice)) return answer['object'] === 'error' || hasWords(answer['error']) ? withStatus(answer) : null;
  if (hasWords(choice['error'])) return withStatus(choice);
  const { finish_reason: finish } = choice;
  const message = `The answer ended with the reason ${JSON.stringify(finish)}.`;
  if (isBrokenOff(finish)) return { status: 500, message, code: null };
  return isHeldBack(finish) ? { status: 400, message, code: 'content_filter' } : null;
}

const hasWords = (error: unknown): boolean =>
  (typeof error === 'string' && error !== '') || (isObject(error) && Object.keys(error).length > 0);

function withStatus(holder: Record<string, unknown>): SaidError & { status: number } {
  const { error = holder, error_type: type = error } = holder;
  return { ...readError({ error }), status: statusOfError(isObject(error) ? error : { message: error, type }) };
}

/** Words of OpenAI's API, vLLM, SGLang, llama.cpp, TGI, LM Studio, Gemini, Anthropic, xAI, DashScope and Copilot. */
const TOO_LONG = new RegExp(
  [
    'maximum (?:context|model|prompt|input) length|context (?:length|size|window|limit)|exceed_context_size',
    'context the overflows|(?:prompt|input) is too long|max_new_tokens.{0,9} must be|reduce the length of',
    'too many (?:input )?tokens|exceeds the maximum number of (?:input )?tokens|range of input length',
    '(?:input length|prompt token count of) \\(?\\d+\\)? exceeds',
  ].join('|'),
  'i',
);

/** Whether an error says that the conversation is longer than the model's context. */
export const saysTooLong = ({ message, code }: SaidError): boolean =>
  code === 'context_length_exceeded' || TOO_LONG.test(message);

/** Words of OpenAI's API, Azure, OpenRouter, Bedrock and DashScope. */
const FILTERED =
  /content.?(?:filter|policy|management)|moderation|\bflagged\b|guardrail|data_inspection|inappropriate content/i;

/** Whether an error says that the content of this conversation is not allowed. */
export const saysFiltered = ({ message, code }: SaidError): boolean => FILTERED.test(`${code} ${message}`);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
