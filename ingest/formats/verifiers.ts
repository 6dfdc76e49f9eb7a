import type { ChatMessage, LeftOut } from '../../contracts/artifacts/trajectory';
import type { Format } from '../format';
import { aliasesOf, idOf, RecordFault, sha256, type Sink } from '../fragment';
import { type Fields, fieldsOf, listOf, textOf, timeOf, toolsOf } from '../values';
import { messagesOfList, messagesOfParts } from './message-parts';

/** Most paths of one graph of messages. */
const MOST_PATHS = 64;

/**
 * verifiers: `results.jsonl` (prompt, completion, reward), and `traces.jsonl`, whose traces are graphs of messages,
 * alone or in episodes. The path with the most messages is the conversation, the others are its branches.
 */
export const verifiers: Format = {
  name: 'verifiers',
  detects: (record) => isResult(record) || isGraph(record),
  read: (record, head, sink) => (isGraph(record) ? readGraph(record, head, sink) : readResult(record, sink)),
};

const isResult = (fields: Fields): boolean => 'prompt' in fields && 'completion' in fields && 'reward' in fields;

const isGraph = ({ nodes }: Fields): boolean =>
  Array.isArray(nodes) && (nodes.length === 0 || 'message' in fieldsOf(nodes[0] as unknown));

function readResult(record: Fields, sink: Sink): void {
  const leftOut = new Set<LeftOut>();
  const [prompt, completion] = [record['prompt'], record['completion']];
  const asked =
    typeof prompt === 'string' ? [{ role: 'user' as const, content: prompt }] : messagesOfList(prompt, leftOut);
  const said =
    typeof completion === 'string'
      ? [{ role: 'assistant' as const, content: completion }]
      : messagesOfList(completion, leftOut);
  const messages: ChatMessage[] = [...asked, ...said];
  if (messages.length === 0) throw new RecordFault('neither a prompt nor a completion (prompt, completion)');
  // A result names its task, and several results have the same one.
  const key = sha256(JSON.stringify([record['task'], record['example_id'] ?? record['id'], messages]));
  sink.fragment({
    format: 'verifiers',
    key,
    model: textOf(record['model']),
    startedAt: null,
    messages,
    leftOut: [...leftOut],
    ...toolsOf(fieldsOf(record['info'])['oai_tools']),
  });
  sink.score({ conversation: key, name: 'reward', value: record['reward'], passesFrom: 1, from: 'trace' });
}

function readGraph(trace: Fields, head: Fields, sink: Sink): void {
  const nodes = listOf(trace['nodes']).map(fieldsOf);
  if (nodes.length === 0) throw new RecordFault('a trace without messages (nodes)');
  const key = idOf(textOf(trace['id']) ?? sha256(JSON.stringify(nodes.map(({ message }) => message))));
  const parents = new Set(nodes.map(({ parent }) => parent));
  const leaves = nodes.flatMap((_, place) => (parents.has(place) ? [] : place)).slice(0, MOST_PATHS);
  const models = listOf(trace['calls']).map((call) => textOf(fieldsOf(call)['model']));
  for (const leaf of leaves) {
    const leftOut = new Set<LeftOut>();
    sink.fragment({
      format: 'verifiers',
      key,
      aliases: aliasesOf(key, [textOf(head['id'])]),
      model: models.find((model) => model !== null) ?? null,
      startedAt: timeOf(nodes[0]?.['timestamp']),
      messages: pathTo(nodes, leaf).flatMap(({ message }) => messagesOfParts(message, leftOut)),
      leftOut: [...leftOut],
      ...toolsOf(nodes[0]?.['tools'] ?? trace['tools']),
    });
  }
  const reward = rewardOf(trace);
  if (reward === null) sink.leaveOut('a trace without a reward (rewards)');
  else sink.score({ conversation: key, name: 'reward', value: reward, passesFrom: 1, from: 'trace' });
}

/** The nodes from the root to a leaf. @throws RecordFault for a graph that is none. */
function pathTo(nodes: readonly Fields[], leaf: number): Fields[] {
  const path: Fields[] = [];
  for (let place: unknown = leaf; typeof place === 'number';) {
    const node: Fields | undefined = nodes[place];
    if (node === undefined || path.length > nodes.length)
      throw new RecordFault('a graph without a root (nodes.parent)');
    path.unshift(node);
    place = node['parent'];
  }
  return path;
}

/** The sum of the weighted scores; null: there is none. */
function rewardOf({ rewards, reward }: Fields): number | null {
  if (typeof reward === 'number') return reward;
  const given = Object.values(fieldsOf(rewards)).flatMap((one) => {
    if (typeof one === 'number') return one;
    const { score, weight = 1 } = fieldsOf(one);
    return typeof score === 'number' && typeof weight === 'number' ? score * weight : [];
  });
  return given.length === 0 ? null : given.reduce((sum, one) => sum + one, 0);
}
