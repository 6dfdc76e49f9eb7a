import type { Said, SaidTexts } from './said';

/** The members of a request's body. */
export type Fields = Record<string, unknown>;

/** A request that a dialect does not allow, or that cannot be kept as a chat completion. */
export class DialectError extends Error {
  constructor(
    message: string,
    /** Path of the member, such as `input[2].type`. */
    readonly param: string,
  ) {
    super(message);
    this.name = 'DialectError';
  }
}

/** What an answer names besides what the model said. */
export interface AnswerNames {
  /** Without the prefix of its kind. */
  id: string;
  /** The model, as the request names it. */
  model: string;
  /** Seconds since 1970. */
  created: number;
  /** The request, parts of which some dialects repeat. */
  asked: Fields;
}

/** Writes an answer as events. Each method returns their text. */
export interface EventWriter {
  /** The events before anything is said. */
  begin(): string;
  /** What was newly said; texts may be empty. */
  said(texts: SaidTexts): string;
  /** The rest of the answer. `said.reasoning`, `said.text` and `said.refusal` repeat all that was said. */
  finish(said: Said): string;
  /** An error in place of the rest. */
  fail(message: string): string;
}

/** An API for conversations with a model, translated from and to OpenAI's chat completions. */
export interface Dialect {
  /** Its route. */
  path: '/v1/chat/completions' | '/v1/responses' | '/v1/messages';
  /** The request as the body of a chat completion. @throws DialectError. */
  toChat(fields: Fields): Fields;
  /** The body of a whole answer. */
  answer(said: Said, names: AnswerNames): object;
  /** Writes the same answer as events. */
  writer(names: AnswerNames): EventWriter;
  /** The body of an error. */
  error(status: number, message: string, param: string | null, code: string | null): object;
}

/** Statuses and the types of OpenAI's errors. */
export function openAiErrorType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
