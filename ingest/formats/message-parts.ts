import type { ChatMessage, LeftOut } from '../../contracts/artifacts/trajectory';
import { toChatMessage } from '../../dialects';
import { type Fields, fieldsOf, listOf, textOf, unpacked } from '../values';

/** Names that frameworks have for the roles of messages. */
const ROLES: Readonly<Record<string, ChatMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  ai: 'assistant',
  model: 'assistant',
  tool: 'tool',
  function: 'tool',
};

/** The role of a message. An unknown one stays, and is refused later. */
export const roleOf = (role: unknown): unknown =>
  typeof role === 'string' && Object.hasOwn(ROLES, role.toLowerCase()) ? ROLES[role.toLowerCase()] : role;

/** A text for what may be a text or a JSON value. */
export const jsonText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** A call in OpenAI's form, of a name and arguments that may be a text or an object. */
export const callOf = (id: unknown, name: unknown, given: unknown): Fields => ({
  id: textOf(id) ?? '',
  type: 'function',
  function: { name, arguments: jsonText(given) },
});

/** Messages of LangChain, serialised by their classes: `{ lc: 1, id: [..., 'HumanMessage'], kwargs: { content } }`. */
const CLASSES: Readonly<Record<string, string>> = {
  HumanMessage: 'user',
  AIMessage: 'assistant',
  AIMessageChunk: 'assistant',
  SystemMessage: 'system',
  ToolMessage: 'tool',
  FunctionMessage: 'tool',
};

/** A message with its role and its calls in OpenAI's form, whichever framework wrote it. */
function plainMessage(given: unknown): Fields {
  const outer = fieldsOf(given);
  const name = listOf(outer['id']).at(-1);
  const isClass = outer['lc'] !== undefined && typeof name === 'string' && Object.hasOwn(CLASSES, name);
  // LangChain's tracers wrap messages once more: { type, data }.
  const members = isClass ? fieldsOf(outer['kwargs']) : 'data' in outer ? fieldsOf(outer['data']) : outer;
  const role = isClass ? CLASSES[name] : roleOf(members['role'] ?? members['type'] ?? outer['type']);
  const calls = listOf(members['tool_calls']).map((call) => {
    const read = fieldsOf(unpacked(call));
    const { id, name, args, arguments: given, function: called } = read;
    return called !== undefined ? read : callOf(id, name, given ?? args);
  });
  const { type: _, additional_kwargs: more, ...rest } = members;
  const reasoning = textOf(members['reasoning_content'], fieldsOf(more)['reasoning_content']);
  return {
    ...rest,
    role,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(reasoning !== null && { reasoning_content: reasoning }),
  };
}

/**
 * Messages of one that has parts, as OpenTelemetry's `gen_ai.input.messages` and others have them, or is one of
 * OpenAI's. Results of tools are messages of their own.
 */
export function messagesOfParts(given: unknown, leftOut: Set<LeftOut>): ChatMessage[] {
  const message = plainMessage(given);
  const content = unpacked(message['content']);
  const parts = Array.isArray(message['parts'])
    ? (message['parts'] as unknown[])
    : Array.isArray(content)
      ? content
      : null;
  if (parts === null) return [toChatMessage({ ...message }, leftOut)];
  const kept: Fields[] = [];
  const calls: Fields[] = [];
  const thoughts: string[] = [];
  const results: ChatMessage[] = [];
  for (const part of parts.map((one) => (typeof one === 'string' ? { type: 'text', content: one } : fieldsOf(one)))) {
    const type = String(part['type']).replaceAll('-', '_');
    if (type === 'tool_call' || type === 'tool_use')
      calls.push(callOf(part['id'] ?? part['toolCallId'], part['name'] ?? part['toolName'], argumentsOf(part)));
    else if (type === 'tool_call_response' || type === 'tool_result') results.push(resultOf(part, leftOut));
    else if (type === 'reasoning' || type === 'thinking')
      thoughts.push(textOf(part['content'], part['text'], part['thinking']) ?? '');
    else if (type === 'text') kept.push({ type, text: textOf(part['content'], part['text']) ?? '' });
    else kept.push({ ...part, type: textOf(part['modality'], part['mime_type'], part['type']) ?? 'other' });
  }
  const rest = { ...message, content: kept };
  delete (rest as Record<string, unknown>)['parts'];
  const own = toChatMessage(
    {
      ...rest,
      ...(calls.length > 0 && message['tool_calls'] === undefined && { tool_calls: calls }),
      ...(thoughts.length > 0 && { reasoning_content: thoughts.join('\n') }),
    },
    leftOut,
  );
  const saysNothing = kept.length === 0 && calls.length === 0 && thoughts.length === 0;
  return results.length > 0 && saysNothing ? results : [...results, own];
}

const argumentsOf = (part: Fields): unknown => part['arguments'] ?? part['input'] ?? part['args'];

function resultOf(part: Fields, leftOut: Set<LeftOut>): ChatMessage {
  const said = part['response'] ?? part['result'] ?? part['output'] ?? part['content'];
  // The AI SDK wraps results: { type: 'json', value }.
  const { type, value } = fieldsOf(said);
  const texts = listOf(said).map((one) => fieldsOf(one)['text']);
  const isTexts = texts.length > 0 && texts.every((text) => typeof text === 'string');
  const content = isTexts ? texts.join('\n') : typeof type === 'string' && value !== undefined ? value : said;
  const id = textOf(part['id'], part['toolCallId'], part['tool_use_id'], part['tool_call_id']);
  return toChatMessage({ role: 'tool', tool_call_id: id, content: jsonText(content) }, leftOut);
}

/** Messages of a list, or of a JSON text of one. */
export const messagesOfList = (list: unknown, leftOut: Set<LeftOut>): ChatMessage[] =>
  listOf(unpacked(list)).flatMap((message) => messagesOfParts(message, leftOut));

/**
 * What a trace has as the input of a model: a text of the user, messages, lists of them, or an object with messages.
 * What is none of these has no messages.
 */
export function asked(input: unknown, leftOut: Set<LeftOut>): ChatMessage[] {
  const value = unpacked(input);
  if (typeof value === 'string') return value === '' ? [] : [{ role: 'user', content: value }];
  if (Array.isArray(value)) {
    const [first] = value as unknown[];
    return messagesOfList(Array.isArray(first) ? first : value.filter(isMessage), leftOut);
  }
  const { messages } = fieldsOf(value);
  return Array.isArray(messages) ? asked(messages, leftOut) : isMessage(value) ? messagesOfParts(value, leftOut) : [];
}

/** What a trace has as the output of a model: a text, a message, a completion, or LangChain's generations. */
export function answered(output: unknown, leftOut: Set<LeftOut>): ChatMessage[] {
  const value = unpacked(output);
  if (typeof value === 'string') return value === '' ? [] : [{ role: 'assistant', content: value }];
  if (Array.isArray(value)) return value.some(isMessage) ? messagesOfList(value.filter(isMessage), leftOut) : [];
  const { choices, generations, message, output: inner, content } = fieldsOf(value);
  const [choice] = listOf(choices).map(fieldsOf);
  if (choice !== undefined) {
    if (choice['finish_reason'] === 'length' || choice['finish_reason'] === 'content_filter') leftOut.add('end');
    return messagesOfParts(choice['message'], leftOut);
  }
  const [generation] = listOf(generations).flat().map(fieldsOf);
  if (generation !== undefined)
    return generation['message'] === undefined
      ? answered(generation['text'], leftOut)
      : messagesOfParts(generation['message'], leftOut);
  if (isMessage(value)) return messagesOfParts(value, leftOut);
  if (isMessage(message)) return messagesOfParts(message, leftOut);
  return inner !== undefined || typeof content === 'string' ? answered(inner ?? content, leftOut) : [];
}

/** Whether a value is a message: it has a role, or is of a class of messages. */
function isMessage(value: unknown): boolean {
  const { role, type, lc, data } = fieldsOf(value);
  return (
    typeof role === 'string' ||
    lc !== undefined ||
    /^(?:human|ai|system|tool)$/.test(String(type)) ||
    data !== undefined
  );
}
