import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

/** The right answer to a request, which a form writes in its own way. */
export interface Plain {
  content: string | null;
  calls: { name: string; arguments: Record<string, unknown> }[];
}

/** What a server sends. */
export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  /** What is not text is sent as JSON. */
  body?: unknown;
  /** `cut`: the connection is closed in the middle; `silent`: at once; `old`: HTTP/1.0; `pieces`: byte by byte. */
  how?: 'cut' | 'silent' | 'old' | 'pieces' | 'gzip';
}

/**
 * What becomes of an answer.
 *
 * In a rollout: `played` as the plain answer, `said` to the environment, `observed` as a call that is answered with
 * these words, `alone` (the rollout ends as refused), `too long`, `sent again`, or the stage `waits`.
 * Of a question: `answered` as by the plain answer, `alone`, `sent again`, or `waits`.
 */
export type Outcome =
  | 'played'
  | 'answered'
  | 'sent again'
  | ['said' | 'observed' | 'alone' | 'too long', RegExp]
  | ['waits', type: string, RegExp];

/** An odd but legal form of an answer. */
export interface Form {
  name: string;
  /** Where it was met: a public thread, or a page of documentation. */
  source: string;
  reply: (plain: Plain) => Reply;
  /** In a rollout. Absent: the form says nothing there. */
  rollout?: Outcome;
  /** Of a question to the analyst. */
  analyst?: Outcome;
  /** The reasoning that is read beside the answer. */
  thought?: string;
  /** The answer counts as cut at the limit of tokens. */
  isCut?: true;
}

/** Tool calls as OpenAI's API has them. */
export const callsOf = ({ calls }: Plain) =>
  calls.map(({ name, arguments: given }, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }));

/** A whole completion with changes of its message, its choice and the rest. `undefined` leaves a field out. */
export function completionOf(plain: Plain, message: object = {}, choice: object = {}, rest: object = {}): object {
  const calls = callsOf(plain);
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'base',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: plain.content,
          ...(calls.length > 0 && { tool_calls: calls }),
          ...message,
        },
        logprobs: null,
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
        ...choice,
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    ...rest,
  };
}

/** Sends a reply. */
export function sendReply(response: ServerResponse, { status = 200, headers = {}, body = '', how }: Reply): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { socket } = response;
  if (how === 'silent') return void socket?.destroy();
  if (how === 'old') return void socket?.end(`HTTP/1.0 ${status} OK\r\nContent-Type: application/json\r\n\r\n${text}`);
  if (how === 'gzip') {
    // Only for a client that takes any encoding.
    const isTaken = !/identity/.test(String(response.req.headers['accept-encoding'] ?? ''));
    return void response
      .writeHead(status, { 'content-type': 'application/json', ...(isTaken && { 'content-encoding': 'gzip' }) })
      .end(isTaken ? gzipSync(text) : text);
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  if (how === 'cut') return void response.write(text.slice(0, text.length / 2), () => socket?.destroy());
  if (how === 'pieces') for (const piece of text) response.write(piece);
  response.end(how === 'pieces' ? '' : text);
}

/** A number in [0, 1) that a seed and a text decide: what a seeded server does with a conversation. */
export function chance(seed: number, text: string): number {
  let hash = seed >>> 0;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 0;
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** The source of a form that no thread was found for, and that is a small step from its neighbours. */
export const SIBLING = 'a sibling of its neighbours';

/** A row of a table of forms: name, source, reply, and the outcomes in a rollout and of a question. */
export type Row = [name: string, source: string, reply: Form['reply'], rollout?: Outcome, analyst?: Outcome];

/** The forms of a table. `about` comes before their names. */
export const namedForms = (about: string, rows: readonly Row[]): Form[] =>
  rows.map(([name, source, reply, rollout, analyst]) => ({
    name: `${about}: ${name}`,
    source,
    reply,
    ...(rollout && { rollout }),
    ...(analyst && { analyst }),
  }));

/** A reply with this status; a body that is text is sent as HTML. */
export const sent =
  (status: number, body?: unknown, headers: Record<string, string> = {}) =>
  (): Reply => ({
    status,
    headers: { ...(typeof body === 'string' && { 'content-type': 'text/html' }), ...headers },
    body,
  });

/** Ends its rollout, or its question, alone. */
export const alone = (words: RegExp): Outcome => ['alone', words];

/** Forms of a completion. Each takes the right answer and gives what a server sends. */
export const message =
  (change: object | ((plain: Plain) => object)) =>
  (plain: Plain): Reply => ({ body: completionOf(plain, typeof change === 'function' ? change(plain) : change) });
export const choice =
  (change: object) =>
  (plain: Plain): Reply => ({ body: completionOf(plain, {}, change) });
export const rest =
  (change: object) =>
  (plain: Plain): Reply => ({ body: completionOf(plain, {}, {}, change) });
/** A message that says this and calls nothing. */
export const text = (content: unknown, more: object = {}) => message({ content, tool_calls: undefined, ...more });

/** A form that a seeded server chose for one turn of a conversation. */
export interface Chosen {
  form: Form;
  turn: number;
}

/**
 * A seeded script: of the conversations a share gets one answer in an odd form, in their first or second turn. `key`
 * names a conversation.
 */
export function seededScript(seed: number, share: number, forms: readonly Form[]) {
  return (key: string): Chosen | null =>
    chance(seed, `whether ${key}`) < share
      ? {
          form: forms[Math.floor(chance(seed, `which ${key}`) * forms.length)]!,
          turn: chance(seed, `when ${key}`) < 0.5 ? 0 : 1,
        }
      : null;
}
