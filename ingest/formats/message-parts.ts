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

/**
 * Messages of one that has parts, as OpenTelemetry's `gen_ai.input.messages` and others have them, or is one of
 * OpenAI's. Results of tools are messages of their own.
 */
export function messagesOfParts(given: unknown, leftOut: Set<LeftOut>): ChatMessage[] {
  const message = fieldsOf(given);
  const role = roleOf(message['role']);
  const content = unpacked(message['content']);
  const parts = Array.isArray(message['parts'])
    ? (message['parts'] as unknown[])
    : Array.isArray(content)
      ? content
      : null;
  if (parts === null) return [toChatMessage({ ...message, role }, leftOut)];
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
  const rest = { ...message, role, content: kept };
  delete (rest as Record<string, unknown>)['parts'];
  const own = toChatMessage(
    {
      ...rest,
      ...(calls.length > 0 && { tool_calls: calls }),
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
  const content = typeof type === 'string' && value !== undefined ? value : said;
  const id = textOf(part['id'], part['toolCallId'], part['tool_use_id'], part['tool_call_id']);
  return toChatMessage({ role: 'tool', tool_call_id: id, content: jsonText(content) }, leftOut);
}

/** Messages of a list, or of a JSON text of one. */
export const messagesOfList = (list: unknown, leftOut: Set<LeftOut>): ChatMessage[] =>
  listOf(unpacked(list)).flatMap((message) => messagesOfParts(message, leftOut));
