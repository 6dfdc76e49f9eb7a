import type { ChatMessage, LeftOut } from '../../contracts/artifacts/trajectory';
import { messagesDialect, toChatMessage } from '../../dialects';
import type { Format } from '../format';
import { named, RecordFault, type Sink } from '../fragment';
import { outcomesOfTrace } from '../outcomes/outcome-members';
import { type Fields, fieldsOf, listOf, textOf, timeOf, toolsOf } from '../values';

/** Members that hold the id of a conversation, in their order. */
const IDS = ['conversation_id', 'session_id', 'thread_id', 'custom_id'];
/** Blocks that only Anthropic's messages have. */
const BLOCKS = /^(?:tool_use|tool_result|thinking|redacted_thinking|server_tool_use)$/;

/**
 * Anthropic's messages: a body of a request with or without its answer (`request` and `response`, as logs of clients
 * have them), and a line of a batch's requests (`custom_id`, `params`) or results (`custom_id`, `result.message`):
 * these are joined.
 */
export const anthropic: Format = {
  name: 'anthropic',
  detects: (record) =>
    askedIn(record) !== null ||
    answerIn(record) !== null ||
    (record['custom_id'] !== undefined && typeof fieldsOf(record['result'])['type'] === 'string'),
  read,
};

/** The body of a request; null: there is none. */
const askedIn = (record: Fields): Fields | null =>
  [record, fieldsOf(record['params']), fieldsOf(record['request']), fieldsOf(record['body'])].find(isRequest) ?? null;

/** Other APIs have neither a system prompt beside the messages nor such blocks and tools. */
function isRequest({ messages, system, tools }: Fields): boolean {
  if (!Array.isArray(messages)) return false;
  const blocks = (messages as unknown[]).flatMap((message) => listOf(fieldsOf(message)['content']));
  return (
    system !== undefined ||
    blocks.some((block) => BLOCKS.test(String(fieldsOf(block)['type']))) ||
    listOf(tools).some((tool) => fieldsOf(tool)['input_schema'] !== undefined)
  );
}

/** The body of an answer; null: there is none. */
const answerIn = (record: Fields): Fields | null =>
  [fieldsOf(fieldsOf(record['result'])['message']), fieldsOf(record['response']), record].find(
    ({ type, role, content }) => type === 'message' && role === 'assistant' && Array.isArray(content),
  ) ?? null;

function read(record: Fields, _head: Fields, sink: Sink): void {
  const leftOut = new Set<LeftOut>();
  const [asked, answer] = [askedIn(record), answerIn(record)];
  const result = fieldsOf(record['result'])['type'];
  if (asked === null && answer === null)
    throw new RecordFault(
      typeof result === 'string'
        ? 'the request failed, so that there is no answer'
        : 'neither a request nor an answer (messages, content)',
    );
  const given = asked === null ? [] : chatMessages(asked, leftOut);
  const said = answer === null ? [] : chatMessages({ messages: [answer] }, leftOut);
  if (answer?.['stop_reason'] === 'max_tokens' || answer?.['stop_reason'] === 'refusal') leftOut.add('end');
  const messages = [...given, ...said];
  const metadata = fieldsOf(record['metadata']);
  const id = textOf(...[record, metadata].flatMap((fields) => IDS.map((name) => fields[name])));
  const { own, ...names } = named(id, textOf(record['request_id'], answer?.['id'], record['id']), messages);
  sink.fragment({
    format: 'anthropic',
    ...names,
    model: textOf(answer?.['model'], asked?.['model'], record['model']),
    startedAt: timeOf(record['created_at'] ?? record['timestamp']),
    messages,
    leftOut: [...leftOut],
    ...toolsOf(asked?.['tools']),
    ...(asked === null && { isAnswer: true as const }),
  });
  for (const outcome of outcomesOfTrace(answer === record ? {} : record, metadata))
    sink.score({ conversation: own, ...outcome, from: 'trace' });
}

/** Messages as trajectories have them. @throws DialectError, ZodError. */
function chatMessages({ system, messages, tools: _, ...rest }: Fields, leftOut: Set<LeftOut>): ChatMessage[] {
  // What cannot be kept of a request to a server may be kept of a record: the server's own tools and its settings.
  const asked = {
    model: textOf(rest['model']) ?? '',
    max_tokens: 1,
    system,
    messages: listOf(messages).map(kept(leftOut)),
  };
  return listOf(messagesDialect.toChat(asked)['messages']).map((message) => toChatMessage(fieldsOf(message), leftOut));
}

/** A message without the blocks of the server's own tools, in whose place stands that they are missing. */
const kept =
  (leftOut: Set<LeftOut>) =>
  (given: unknown): unknown => {
    const { role, content } = fieldsOf(given);
    if (!Array.isArray(content)) return { role, content };
    const blocks = (content as unknown[]).map((block) => {
      const { type } = fieldsOf(block);
      if (
        typeof type !== 'string' ||
        /^(?:text|image|document|tool_use|tool_result|(?:redacted_)?thinking)$/.test(type)
      )
        return block;
      leftOut.add('other');
      return { type: 'text', text: '[left out: other]' };
    });
    return { role, content: blocks };
  };
