import type { ChatMessage, LeftOut } from '../../../contracts/artifacts/trajectory';
import { toChatMessage } from '../../../dialects';
import { type Fields, fieldsOf, listOf, toolsOf, unpacked } from '../../values';
import { callOf, messagesOfList, roleOf } from '../message-parts';
import { type Attributes, attributesOf, elementsOf } from './attributes';

/** What a span says of one request to a model. */
export interface Spoken {
  messages: ChatMessage[];
  tools?: unknown[];
}

/** Reads the messages of a span in one of the forms; null: it has none in it. */
type Form = (attributes: Attributes, leftOut: Set<LeftOut>) => Spoken | null;

/** OpenTelemetry from 1.37: JSON in `gen_ai.input.messages` and `gen_ai.output.messages`. */
const current: Form = (attributes, leftOut) => {
  const [asked, said] = [attributes.get('gen_ai.input.messages'), attributes.get('gen_ai.output.messages')];
  if (asked === undefined && said === undefined) return null;
  const instructions = listOf(unpacked(attributes.get('gen_ai.system_instructions')));
  const system = instructions.length === 0 ? [] : [{ role: 'system', parts: instructions }];
  return {
    messages: [...messagesOfList(system, leftOut), ...messagesOfList(asked, leftOut), ...firstOf(said, leftOut)],
    ...toolsOf(attributes.get('gen_ai.tool.definitions')),
  };
};

/** The first choice, and whether it is whole. */
function firstOf(said: unknown, leftOut: Set<LeftOut>): ChatMessage[] {
  const choices = listOf(unpacked(said));
  if (choices.length > 1) leftOut.add('choices');
  noteEnd(fieldsOf(choices[0])['finish_reason'], leftOut);
  return messagesOfList(choices.slice(0, 1), leftOut);
}

function noteEnd(reason: unknown, leftOut: Set<LeftOut>): void {
  if (reason === 'length' || reason === 'content_filter') leftOut.add('end');
}

/** OpenLLMetry, and OpenTelemetry before: `gen_ai.prompt.0.content`, `gen_ai.completion.0.tool_calls.0.name`. */
const spelled: Form = (attributes, leftOut) => {
  const asked = elementsOf(attributes, 'gen_ai.prompt.');
  const said = elementsOf(attributes, 'gen_ai.completion.');
  if (asked.length === 0 && said.length === 0) return null;
  if (said.length > 1) leftOut.add('choices');
  noteEnd(said[0]?.get('finish_reason'), leftOut);
  const message = (one: Attributes, role: unknown): ChatMessage[] => {
    const calls = elementsOf(one, 'tool_calls.').map((call) =>
      callOf(call.get('id'), call.get('name'), call.get('arguments')),
    );
    const id = one.get('tool_call_id');
    const content = one.get('content');
    return messagesOfList(
      [{ role: one.get('role') ?? role, content, ...(calls.length > 0 && { tool_calls: calls }), tool_call_id: id }],
      leftOut,
    );
  };
  const tools = elementsOf(attributes, 'llm.request.functions.').map((tool) => ({
    name: tool.get('name'),
    description: tool.get('description'),
    parameters: unpacked(tool.get('parameters')),
  }));
  return {
    messages: [
      ...asked.flatMap((one) => message(one, 'user')),
      ...said.slice(0, 1).flatMap((one) => message(one, 'assistant')),
    ],
    ...toolsOf(tools),
  };
};

/** OpenInference: `llm.input_messages.0.message.content`. */
const openInference: Form = (attributes, leftOut) => {
  const lists = ['llm.input_messages.', 'llm.output_messages.'].map((prefix) => elementsOf(attributes, prefix));
  if (lists.every((list) => list.length === 0)) return null;
  const messages = lists.flat().map((one) => {
    const calls = elementsOf(one, 'message.tool_calls.').map((call) =>
      callOf(call.get('tool_call.id'), call.get('tool_call.function.name'), call.get('tool_call.function.arguments')),
    );
    const parts = elementsOf(one, 'message.contents.').map((part) => ({
      type: part.get('message_content.type'),
      text: part.get('message_content.text'),
    }));
    return toChatMessage(
      {
        role: roleOf(one.get('message.role')),
        content: one.get('message.content') ?? (parts.length > 0 ? parts : null),
        ...(calls.length > 0 && { tool_calls: calls }),
        tool_call_id: one.get('message.tool_call_id'),
      },
      leftOut,
    );
  });
  const tools = elementsOf(attributes, 'llm.tools.').map((tool) => tool.get('tool.json_schema'));
  return { messages, ...toolsOf(tools) };
};

/** The AI SDK: `ai.prompt.messages`, `ai.response.text`, `ai.response.toolCalls`. */
const aiSdk: Form = (attributes, leftOut) => {
  const asked = attributes.get('ai.prompt.messages');
  if (asked === undefined) return null;
  noteEnd(attributes.get('ai.response.finishReason'), leftOut);
  const calls = listOf(unpacked(attributes.get('ai.response.toolCalls'))).map(fieldsOf);
  const [text, reasoning] = [attributes.get('ai.response.text'), attributes.get('ai.response.reasoning')];
  const said = {
    role: 'assistant',
    content: text ?? null,
    reasoning_content: reasoning,
    tool_calls: calls.map((call) => callOf(call['toolCallId'], call['toolName'], call['input'] ?? call['args'])),
  };
  const answers = text !== undefined || calls.length > 0 ? [toChatMessage(said, leftOut)] : [];
  return {
    messages: [...messagesOfList(asked, leftOut), ...answers],
    ...toolsOf(listOf(attributes.get('ai.prompt.tools'))),
  };
};

const FORMS: readonly Form[] = [current, openInference, spelled, aiSdk];

/** What the attributes of a span say; null: nothing. @throws ZodError for a message that is none. */
export function spokenIn(attributes: Attributes, leftOut: Set<LeftOut>): Spoken | null {
  for (const form of FORMS) {
    const spoken = form(attributes, leftOut);
    if (spoken !== null && spoken.messages.length > 0) return spoken;
  }
  return null;
}

/** Roles of the events that hold one message. */
const EVENTS: Readonly<Record<string, string>> = {
  'gen_ai.system.message': 'system',
  'gen_ai.user.message': 'user',
  'gen_ai.assistant.message': 'assistant',
  'gen_ai.tool.message': 'tool',
  'gen_ai.choice': 'assistant',
};

/** Whether an event holds a message. */
export const isMessageEvent = (name: unknown): name is string =>
  typeof name === 'string' && Object.hasOwn(EVENTS, name);

/**
 * The messages of an event of OpenTelemetry 1.28 to 1.36, which has one: of a span with attributes, or of a log with a
 * body. Later ones have all of them, as attributes of a span do.
 */
export function spokenInEvent(
  name: string,
  attributes: Attributes,
  body: Fields,
  leftOut: Set<LeftOut>,
): ChatMessage[] {
  const content = fieldsOf(unpacked(attributes.get('gen_ai.event.content')));
  const members = { ...Object.fromEntries(attributes), ...content, ...body } as Fields;
  noteEnd(members['finish_reason'], leftOut);
  const message = unpacked(members['message']);
  const said = typeof message === 'object' ? fieldsOf(message) : { ...members, content: members['content'] ?? message };
  const { content: words, tool_calls: calls, role } = said;
  return messagesOfList(
    [{ role: role ?? EVENTS[name], content: words, tool_calls: unpacked(calls), tool_call_id: members['id'] }],
    leftOut,
  );
}

/** Messages of the events of a span. */
export function spokenInEvents(events: unknown, leftOut: Set<LeftOut>): ChatMessage[] {
  return listOf(events).flatMap((given) => {
    const { name, attributes } = fieldsOf(given);
    if (!isMessageEvent(name)) return [];
    return spokenInEvent(name, attributesOf(attributes), {}, leftOut);
  });
}
