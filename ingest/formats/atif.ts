import type { ChatMessage, LeftOut } from '../../contracts/artifacts/trajectory';
import { toChatMessage } from '../../dialects';
import type { Format } from '../format';
import { aliasesOf, idOf, RecordFault, sha256, type Sink } from '../fragment';
import { outcomesOfTrace } from '../outcomes/outcome-members';
import { type Fields, fieldsOf, listOf, textOf, timeOf, toolsOf } from '../values';
import { callOf, jsonText } from './message-parts';

const ROLES: Readonly<Record<string, ChatMessage['role']>> = { system: 'system', user: 'user', agent: 'assistant' };

/**
 * ATIF, the trajectories of Harbor and of NVIDIA's toolkit: steps with calls and observations. What it says of a reward
 * is in `extra`; Harbor writes the reward in a file of its own, which is an outcome file.
 */
export const atif: Format = {
  name: 'atif',
  detects: (record) =>
    Array.isArray(record['steps']) &&
    (/^ATIF/i.test(String(record['schema_version'])) || ('agent' in record && 'session_id' in record)),
  read,
};

function read(record: Fields, _head: Fields, sink: Sink): void {
  const leftOut = new Set<LeftOut>();
  const steps = listOf(record['steps']).map(fieldsOf);
  const messages = steps.flatMap((step) => messagesOf(step, leftOut));
  if (messages.length === 0) throw new RecordFault('a trajectory without steps (steps)');
  const [trajectory, session] = [textOf(record['trajectory_id']), textOf(record['session_id'])];
  const key = idOf(trajectory ?? session ?? sha256(JSON.stringify(messages)));
  const agent = fieldsOf(record['agent']);
  const branches = listOf(record['subagent_trajectories'])
    .map((one) => listOf(fieldsOf(one)['steps']).flatMap((step) => messagesOf(fieldsOf(step), leftOut)))
    .filter((kept) => kept.length > 0);
  sink.fragment({
    format: 'atif',
    key,
    aliases: aliasesOf(key, [session]),
    model: textOf(agent['model_name'], ...steps.map((step) => step['model_name'])),
    startedAt: timeOf(steps[0]?.['timestamp']),
    messages,
    ...(branches.length > 0 && { branches: { count: branches.length, kept: branches } }),
    leftOut: [...leftOut],
    ...toolsOf(agent['tool_definitions']),
  });
  const extras = [record['extra'], fieldsOf(record['final_metrics'])['extra']].map(fieldsOf);
  for (const outcome of outcomesOfTrace(...extras)) sink.score({ conversation: key, ...outcome, from: 'trace' });
}

/** A step as messages: what was said with its calls, and an observation for each call. */
function messagesOf(step: Fields, leftOut: Set<LeftOut>): ChatMessage[] {
  const calls = listOf(step['tool_calls']).map(fieldsOf);
  const made = calls.map((call) => callOf(call['tool_call_id'], call['function_name'], call['arguments']));
  const source = String(step['source']);
  const said = toChatMessage(
    {
      role: Object.hasOwn(ROLES, source) ? ROLES[source] : source,
      content: step['message'],
      ...(made.length > 0 && { tool_calls: made }),
      ...(typeof step['reasoning_content'] === 'string' && { reasoning_content: step['reasoning_content'] }),
    },
    leftOut,
  );
  const results = listOf(fieldsOf(step['observation'])['results']).map(fieldsOf);
  const observed = results.map((result, place) => {
    const content = result['content'];
    const id = textOf(result['source_call_id'], calls[place]?.['tool_call_id']);
    // What no call asked for comes from the environment, as what a user says.
    const role = id === null ? 'user' : 'tool';
    return toChatMessage(
      { role, ...(id !== null && { tool_call_id: id }), content: Array.isArray(content) ? content : jsonText(content) },
      leftOut,
    );
  });
  return [said, ...observed];
}
