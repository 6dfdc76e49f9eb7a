/** Converts requests and answers of OpenAI's API into messages of a trajectory. */
import { type ChatMessage, chatMessageSchema, type LeftOut } from '../contracts/artifacts/trajectory';
import { isBrokenOff, isHeldBack } from '../contracts/messages/read-error';
import { argumentsOf, StreamedCalls, type WireCall } from './chat-calls';
import { eventsIn } from './server-sent-events';

interface WireMessage {
  role?: unknown;
  content?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  refusal?: unknown;
  tool_calls?: unknown;
  tool_call_id?: unknown;
  [field: string]: unknown;
}

/** Kinds of content, by words in the types of parts and in the fields that hold it beside the text. */
const KINDS: readonly [word: RegExp, kind: LeftOut][] = [
  [/image/, 'image'],
  [/audio/, 'audio'],
  [/video/, 'video'],
  [/file|document/, 'file'],
];
/** Fields of a message, besides `content`, that hold what the model reads or has said. */
const SAID = /^(?:images?|audios?|videos?|files?|documents?|function_call)$/;

const kindOf = (word: string): LeftOut => KINDS.find(([pattern]) => pattern.test(word))?.[1] ?? 'other';

/**
 * A message as trajectories have it: text parts are joined, `developer` becomes `system`, a refusal is text, and no
 * arguments are `{}`. In place of all else it says what is missing, which is added to `leftOut`. Throws ZodError for a
 * message that is none.
 */
export function toChatMessage(message: WireMessage, leftOut: Set<LeftOut>): ChatMessage {
  const { content, role, refusal, tool_calls: calls = null, tool_call_id: id } = message;
  const parts: unknown[] = Array.isArray(content) ? content : [content ?? ''];
  const texts = parts.map((part) => textOf(part, leftOut));
  if (typeof refusal === 'string') texts.push(refusal);
  for (const [field, value] of Object.entries(message))
    if (SAID.test(field) && hasContent(value)) texts.push(missing(kindOf(field), leftOut));
  const text = texts.filter((one) => one !== '').join('\n');
  const hasCalls = Array.isArray(calls) && calls.length > 0;
  const reasoning = reasoningOf(message);
  return chatMessageSchema.parse({
    role: role === 'developer' ? 'system' : role,
    content: text === '' && (hasCalls || content === null || content === undefined) ? null : text,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(hasCalls && { tool_calls: calls.map(toToolCall) }),
    ...(typeof id === 'string' && { tool_call_id: id }),
  });
}

interface WirePart {
  type?: unknown;
  text?: unknown;
  refusal?: unknown;
}

function textOf(part: unknown, leftOut: Set<LeftOut>): string {
  if (typeof part === 'string') return part;
  const { type, text, refusal } = (part ?? {}) as WirePart;
  const said = type === 'refusal' ? refusal : text;
  const isText = type === undefined || (typeof type === 'string' && /^(?:(?:in|out)put_)?text$|^refusal$/.test(type));
  return isText && typeof said === 'string' ? said : missing(kindOf(String(type)), leftOut);
}

/** Notes that something is missing. Returns what a reader sees in its place. */
function missing(kind: LeftOut, leftOut: Set<LeftOut>): string {
  leftOut.add(kind);
  return `[left out: ${kind}]`;
}

const hasContent = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);

/** The text before the answer. Servers use either name. */
export function reasoningOf({ reasoning_content: text, reasoning }: WireMessage): string {
  return [text, reasoning].find((one): one is string => typeof one === 'string' && one !== '') ?? '';
}

function toToolCall(call: WireCall | null): unknown {
  const { id, type, function: called } = call ?? {};
  return {
    id: id ?? '',
    type: type ?? 'function',
    function: { name: called?.name, arguments: argumentsOf(called) || '{}' },
  };
}

/** An answer's message, and its numbers of tokens. */
export interface ReadAnswer {
  message: ChatMessage;
  promptTokens: number;
  completionTokens: number;
  /** Whether it was cut at the limit of tokens. */
  cut: boolean;
}

interface Delta extends WireMessage {
  tool_calls?: (WireCall & { index?: unknown })[] | null;
}

interface WireAnswer {
  choices?: { index?: number; message?: Delta; delta?: Delta; finish_reason?: unknown }[] | null;
  usage?: { prompt_tokens?: number; completion_tokens?: number } | null;
}

const usageOf = ({ usage }: WireAnswer) => ({
  promptTokens: usage?.prompt_tokens ?? 0,
  completionTokens: usage?.completion_tokens ?? 0,
});

/** The first choice. The client may have gone on with another one, so `leftOut` says when there are more. */
function firstOf(answer: WireAnswer, leftOut: Set<LeftOut>) {
  const choices = answer.choices ?? [];
  if (choices.some(({ index }, place) => (index ?? place) > 0)) leftOut.add('choices');
  return choices.find(({ index }) => (index ?? 0) === 0);
}

/** Notes where the rest of an answer is missing. */
function noteEnd(reason: unknown, leftOut: Set<LeftOut>): void {
  if (isBrokenOff(reason) || isHeldBack(reason)) leftOut.add('end');
}

/** Reads the first choice of an answer that was not streamed. Throws when it has none. */
export function readWhole(body: string, leftOut: Set<LeftOut>): ReadAnswer {
  const answer = JSON.parse(body) as WireAnswer;
  const choice = firstOf(answer, leftOut);
  noteEnd(choice?.finish_reason, leftOut);
  return {
    message: toChatMessage(choice?.message ?? {}, leftOut),
    cut: choice?.finish_reason === 'length',
    ...usageOf(answer),
  };
}

/**
 * Reads the first choice of a streamed answer from its events. It is whole when it says that it ends. Throws when an
 * event is not valid.
 */
export function readStream(body: string, leftOut = new Set<LeftOut>()): ReadAnswer {
  const events = eventsIn(body);
  if ('fault' in events) throw new SyntaxError(`The streamed answer has ${events.fault}.`);
  const texts = { content: '', reasoning: '', refusal: '' };
  const beside: Record<string, unknown> = {};
  const calls = new StreamedCalls();
  let usage = { promptTokens: 0, completionTokens: 0 };
  let end: unknown = null;
  for (const { data } of events) {
    if (data === '[DONE]') {
      end ??= data;
      continue;
    }
    const event = JSON.parse(data) as WireAnswer;
    if (event.usage) usage = usageOf(event);
    const choice = firstOf(event, leftOut);
    end = choice?.finish_reason ?? end;
    // Some servers send a message where others send what is new in it.
    const { content, refusal, tool_calls: parts, ...rest }: Delta = choice?.delta ?? choice?.message ?? {};
    texts.content += (Array.isArray(content) ? content : [content ?? '']).map((part) => textOf(part, leftOut)).join('');
    texts.refusal += typeof refusal === 'string' ? refusal : '';
    texts.reasoning += reasoningOf(rest);
    for (const [field, value] of Object.entries(rest)) if (hasContent(value)) beside[field] = value;
    parts?.forEach((part) => calls.add(part));
  }
  if (end === null) leftOut.add('end');
  noteEnd(end, leftOut);
  const { content, refusal, reasoning } = texts;
  const said = { role: 'assistant', content, refusal, reasoning_content: reasoning, tool_calls: calls.made };
  return { message: toChatMessage({ ...beside, ...said }, leftOut), cut: end === 'length', ...usage };
}
