import { isUtf8 } from 'node:buffer';
import type { ReadMessage } from '../../routing/opening-text';
import { ApiError } from './errors';
import { measureParsed, refuseBloated } from './measure-json';
import { RequestBody } from './replace-model-name';
import type { ReceivedBody } from './read-body';
import { startOf } from '../../contracts/clean-text';

/** The part of an inference request that the gateway reads. The rest is sent to the model server unchanged. */
export interface InferenceRequest {
  model: string;
  stream: boolean;
  /** All fields, as the client sent them. */
  parsed: Record<string, unknown>;
  /** Upper bound of the memory of `parsed`, in bytes. */
  parsedBytes: number;
  body: RequestBody;
}

/** Reads a body. Throws ApiError 400 if it is not a JSON object with a model name, or if it is too deep or bloated. */
export function parseInference(body: ReceivedBody): InferenceRequest {
  const { bytes } = body;
  if (!isUtf8(bytes)) throw new ApiError(400, 'The request body is not UTF-8.', { code: 'invalid_json' });
  refuseBloated(bytes);
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    // V8's message may quote the body. That is harmless, because the body is the client's own.
    throw new ApiError(400, `The request body is not JSON: ${startOf((error as Error).message, 160)}`, {
      code: 'invalid_json',
    });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new ApiError(400, 'The request body must be a JSON object.', { code: 'invalid_json' });
  }
  const fields = parsed as Record<string, unknown>;
  const parsedBytes = measureParsed(fields, bytes.length);
  const { model, stream } = fields;
  if (typeof model !== 'string' || model === '') {
    throw new ApiError(400, 'model is missing: it must be a name that GET /v1/models lists.', {
      param: 'model',
      code: 'missing_model',
    });
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw new ApiError(400, `stream must be true or false, found ${startOf(JSON.stringify(stream), 40)}.`, {
      param: 'stream',
    });
  }
  return { model, stream: stream === true, parsed: fields, parsedBytes, body: new RequestBody(body, fields) };
}

/** The opening of a conversation. It identifies the conversation, and the router reads it. */
export interface Opening {
  /**
   * Role and text of each message up to and including the first user turn, alternating. They are the same at every turn
   * of a conversation.
   */
  texts: string[];
  /** Text of the first user turn, which the router reads. */
  task: string;
  /** The part of the conversation so far that a router may read. It is read on demand. */
  messages: () => ReadMessage[];
}

/** Opening of a chat. Throws ApiError 400 if `messages` is not a list of objects. */
export function chatOpening({ messages }: Record<string, unknown>): Opening {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new ApiError(400, 'messages is missing: it must be a list with at least one message.', { param: 'messages' });
  }
  const texts: string[] = [];
  for (const [index, message] of (messages as unknown[]).entries()) {
    if (typeof message !== 'object' || message === null) {
      throw new ApiError(400, `messages[${index}] must be an object with a role.`, { param: `messages[${index}]` });
    }
    const { role, content } = message as { role?: unknown; content?: unknown };
    const said = contentText(content);
    texts.push(typeof role === 'string' ? role : '', said);
    if (role === 'user') return { texts, task: said, messages: () => readMessages(messages) };
  }
  // Without a user turn the router reads the last message, as in evaluation.
  const task = contentText((messages.at(-1) as { content?: unknown }).content);
  return { texts, task, messages: () => readMessages(messages) };
}

/** Messages that are not objects are skipped, because the model server refuses them. */
function readMessages(messages: readonly unknown[]): ReadMessage[] {
  return messages.map((message) => {
    const { role, content, tool_calls } = (message ?? {}) as {
      role?: unknown;
      content?: unknown;
      tool_calls?: unknown;
    };
    const isRead = role === 'user' || role === 'tool';
    const calls = role === 'assistant' && Array.isArray(tool_calls) ? tool_calls.flatMap(calledFunction) : [];
    return {
      role: typeof role === 'string' ? role : '',
      content: isRead ? saidText(content) : null,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  });
}

/** The name of the called function. None for what is no call, because the model server refuses it. */
function calledFunction(call: unknown): { function: { name: string } }[] {
  const name = (call as { function?: { name?: unknown } | null } | null)?.function?.name;
  return typeof name === 'string' ? [{ function: { name } }] : [];
}

/** Opening of a plain completion: its prompt. */
export function promptOpening({ prompt }: Record<string, unknown>): Opening {
  const text = typeof prompt === 'string' ? prompt : (JSON.stringify(prompt) ?? '');
  return { texts: [text], task: text, messages: () => [] };
}

/** A message's text. For a list it is the texts of the parts; for a part without text, the part's JSON. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content
    .map((part: unknown) => {
      const text = (part as { text?: unknown } | null)?.text;
      return typeof text === 'string' ? text : JSON.stringify(part);
    })
    .join('\n');
}

/**
 * The words of a message. If it is a list, only its texts count. Images are skipped, because this runs at every turn.
 */
function saidText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((part: unknown) => (part as { text?: unknown } | null)?.text);
  return texts.filter((text) => typeof text === 'string').join('\n');
}
