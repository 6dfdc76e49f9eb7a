import type { ChatMessage, LeftOut } from '../../contracts/artifacts/trajectory';
import { responsesDialect, toChatMessage } from '../../dialects';
import type { Format } from '../format';
import { type Fragment, named, RecordFault, type Sink } from '../fragment';
import { outcomesOfTrace } from '../outcomes/outcome-members';
import { type Fields, fieldsOf, isFields, listOf, textOf, timeOf, toolsOf } from '../values';

/** Members that hold the id of a conversation, in their order. */
const IDS = ['conversation_id', 'thread_id', 'session_id', 'custom_id', 'id'];
/** Ids that a server gives to one request. */
const OF_REQUEST = /^(?:chatcmpl|cmpl|req|resp|batch_req)[-_]/;

/**
 * OpenAI's chat JSON Lines: a body of a request with or without its answer (`request` and `response`, as logs of
 * clients have them), a fine-tuning example (`messages`, `tools`), a line of a batch's input (`custom_id`, `body`) or
 * of its output (`custom_id`, `response.body`), which are joined, and a stored chat completion.
 */
export const openai: Format = {
  name: 'openai',
  detects: (record) =>
    isMessages(record['messages']) ||
    isMessages(fieldsOf(record['body'])['messages']) ||
    fieldsOf(record['body'])['input'] !== undefined ||
    isMessages(fieldsOf(record['request'])['messages']) ||
    isMessages(fieldsOf(record['input'])['messages']) ||
    (record['custom_id'] !== undefined && isFields(record['response'])) ||
    answerIn(record) !== null,
  read,
};

/** A list of messages, or an empty one. */
function isMessages(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [first] = value as unknown[];
  return first === undefined || typeof fieldsOf(first)['role'] === 'string';
}

/** The body of an answer: of a batch's output, of a log, or the record itself. */
function answerIn(record: Fields): Fields | null {
  const response = fieldsOf(record['response']);
  const found = [fieldsOf(response['body']), response, fieldsOf(record['output']), record];
  return found.find(({ choices, output }) => Array.isArray(choices) || Array.isArray(output)) ?? null;
}

function read(record: Fields, _head: Fields, sink: Sink): void {
  const leftOut = new Set<LeftOut>();
  const asked = askedIn(record);
  const answer = answerIn(record);
  const said = answer === null ? [] : answerMessages(answer, leftOut);
  const given = listOf(asked?.['messages']).map((message) => toChatMessage(today(fieldsOf(message)), leftOut));
  const failure = fieldsOf(record['response'])['status_code'];
  if (asked === null && said.length === 0)
    throw new RecordFault(
      typeof failure === 'number' && failure >= 400
        ? 'the request failed, so that there is no answer'
        : 'an answer without a message (choices[0].message)',
    );
  const messages = [...given, ...said];
  if (messages.length === 0) throw new RecordFault('no messages (messages)');
  const metadata = fieldsOf(record['metadata']);
  const ids = [record, metadata].flatMap((fields) => IDS.map((name) => fields[name]));
  const id = textOf(...ids.map((one) => (typeof one === 'string' && OF_REQUEST.test(one) ? null : one)));
  const { own, ...names } = named(id, textOf(record['request_id'], answer?.['id'], record['id']), messages);
  const fragment: Fragment = {
    format: 'openai',
    ...names,
    model: textOf(answer?.['model'], asked?.['model'], record['model']),
    startedAt: timeOf(record['created_at'] ?? record['timestamp'] ?? record['created'] ?? answer?.['created']),
    messages,
    leftOut: [...leftOut],
    ...toolsOf(asked?.['tools'] ?? functionsOf(asked) ?? record['tools']),
    ...(asked === null && { isAnswer: true as const }),
  };
  sink.fragment(fragment);
  for (const outcome of outcomesOfTrace(record, metadata)) sink.score({ conversation: own, ...outcome, from: 'trace' });
}

/** What was asked, as a chat completion's body. Null: the record has an answer alone. */
function askedIn(record: Fields): Fields | null {
  const body = [record, fieldsOf(record['body']), fieldsOf(record['request']), fieldsOf(record['input'])].find(
    ({ messages }) => isMessages(messages),
  );
  if (body !== undefined) return body;
  const responses = fieldsOf(record['body']);
  return responses['input'] === undefined ? null : responsesDialect.toChat(responses);
}

/** A message with calls as they are made today: older ones have a single function without an id. */
function today(message: Fields): Fields {
  const { function_call: call, role, name, ...rest } = message;
  if (role === 'function') return { ...rest, role: 'tool', tool_call_id: name };
  if (!isFields(call)) return message;
  return { ...rest, role, tool_calls: [{ id: call['name'], type: 'function', function: call }] };
}

/** Schemas of the older member `functions`. */
const functionsOf = (asked: Fields | null): unknown =>
  Array.isArray(asked?.['functions']) ? asked['functions'] : undefined;

/** The message of an answer's first choice; of a response, its items as one message. */
function answerMessages(answer: Fields, leftOut: Set<LeftOut>): ChatMessage[] {
  const choices = listOf(answer['choices']).map(fieldsOf);
  if (choices.length > 1) leftOut.add('choices');
  const [first] = choices;
  if (first !== undefined) {
    if (first['finish_reason'] === 'length' || first['finish_reason'] === 'content_filter') leftOut.add('end');
    return isFields(first['message']) ? [toChatMessage(today(first['message']), leftOut)] : [];
  }
  if (!Array.isArray(answer['output'])) return [];
  const chat = responsesDialect.toChat({ model: answer['model'] ?? '', input: answer['output'] });
  return listOf(chat['messages']).map((message) => toChatMessage(fieldsOf(message), leftOut));
}
