import type { ChatMessage, LeftOut } from '../../contracts/artifacts/trajectory';
import type { Format } from '../format';
import { idOf, RecordFault } from '../fragment';
import { type Fields, fieldsOf, listOf, textOf, timeOf, toolsOf } from '../values';
import { jsonText, messagesOfParts } from './message-parts';

/**
 * tau2's results: simulations with their rewards. The policy stands where the agent's system message stood, of which it
 * is the part that the domain has. What the simulated user did with tools of their own is left out, as the agent does
 * not see it.
 */
export const tau2: Format = {
  name: 'tau2',
  detects: (record) =>
    Array.isArray(record['messages']) &&
    'task_id' in record &&
    ('reward_info' in record || 'termination_reason' in record),
  read(record, head, sink) {
    const leftOut = new Set<LeftOut>();
    const { agent_info: agent, environment_info: environment } = fieldsOf(head['info']);
    const said = listOf(record['messages']).map(fieldsOf).flatMap(flat).filter(isSeen);
    const messages = said.flatMap((message) => messageOf(message, leftOut));
    if (messages.length === 0) throw new RecordFault('a simulation without messages (messages)');
    const policy = textOf(fieldsOf(environment)['policy']);
    const key = idOf(textOf(record['id']) ?? jsonText([record['task_id'], record['trial']]));
    sink.fragment({
      format: 'tau2',
      key,
      model: textOf(fieldsOf(agent)['llm']),
      startedAt: timeOf(record['start_time'] ?? record['timestamp']),
      messages: policy === null ? messages : [{ role: 'system', content: policy }, ...messages],
      leftOut: [...leftOut],
      ...toolsOf(toolsIn(fieldsOf(environment)['tool_defs'])),
    });
    const { reward } = fieldsOf(record['reward_info']);
    if (reward === undefined || reward === null) sink.leaveOut('a simulation without a reward (reward_info.reward)');
    else sink.score({ conversation: key, name: 'reward', value: reward, passesFrom: 1, from: 'trace' });
  },
};

/** Results of several calls may come in one message. */
const flat = (message: Fields): Fields[] =>
  Array.isArray(message['tool_messages']) ? message['tool_messages'].map(fieldsOf) : [message];

const isSeen = ({ role, requestor, tool_calls: calls, content }: Fields): boolean =>
  requestor !== 'user' && !(role === 'user' && listOf(calls).length > 0 && textOf(content) === null);

const messageOf = (message: Fields, leftOut: Set<LeftOut>): ChatMessage[] =>
  message['role'] === 'tool'
    ? messagesOfParts({ role: 'tool', content: message['content'], tool_call_id: message['id'] }, leftOut)
    : messagesOfParts(
        { role: message['role'], content: message['content'], tool_calls: message['tool_calls'] },
        leftOut,
      );

/** Signatures by their names, as tools. */
const toolsIn = (definitions: unknown): Fields[] =>
  Object.entries(fieldsOf(definitions)).map(([name, given]) => {
    const { doc, params } = fieldsOf(given);
    return { name, ...(typeof doc === 'string' && { description: doc }), parameters: params };
  });
