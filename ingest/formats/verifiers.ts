import type { ChatMessage, LeftOut } from '../../contracts/artifacts/trajectory';
import type { Format } from '../format';
import { aliasesOf, idOf, RecordFault, sha256, type Sink } from '../fragment';
import { type Fields, fieldsOf, listOf, textOf, timeOf, toolsOf } from '../values';
import { messagesOfList, messagesOfParts } from './message-parts';

/** Most branches of one graph whose messages are kept, and most characters of them, as all may repeat long ones. */
const KEPT_BRANCHES = 8;
const KEPT_CHARACTERS = 4_000_000;

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
  const [longest, ...others] = leavesOf(nodes);
  if (longest === undefined) throw new RecordFault(ROOTLESS);
  const models = listOf(trace['calls']).map((call) => textOf(fieldsOf(call)['model']));
  const leftOut = new Set<LeftOut>();
  const messagesTo = (leaf: number, noted: Set<LeftOut>): ChatMessage[] =>
    pathTo(nodes, leaf).flatMap(({ message }) => messagesOfParts(message, noted));
  const kept: ChatMessage[][] = [];
  let characters = 0;
  for (const leaf of others.slice(0, KEPT_BRANCHES)) {
    const messages = messagesTo(leaf, new Set());
    characters += JSON.stringify(messages).length;
    if (characters > KEPT_CHARACTERS) break;
    kept.push(messages);
  }
  sink.fragment({
    format: 'verifiers',
    key,
    aliases: aliasesOf(key, [textOf(head['id'])]),
    model: models.find((model) => model !== null) ?? null,
    startedAt: timeOf(nodes[0]?.['timestamp']),
    messages: messagesTo(longest, leftOut),
    ...(others.length > 0 && { branches: { count: others.length, kept } }),
    leftOut: [...leftOut],
    ...toolsOf(nodes[0]?.['tools'] ?? trace['tools']),
  });
  const reward = rewardOf(trace);
  if (reward === null) sink.leaveOut('a trace without a reward (rewards)');
  else sink.score({ conversation: key, name: 'reward', value: reward, passesFrom: 1, from: 'trace' });
}

const ROOTLESS = 'a graph without a root (nodes.parent)';

/** The places of the nodes without children, that of the longest path first. @throws RecordFault for a circle. */
function leavesOf(nodes: readonly Fields[]): number[] {
  const parents = new Set(nodes.map(({ parent }) => parent));
  const depths = new Map<unknown, number>();
  const depthOf = (leaf: number): number => {
    const path: number[] = [];
    let place: unknown = leaf;
    for (; typeof place === 'number' && !depths.has(place); place = nodes[place]?.['parent']) {
      if (nodes[place] === undefined || path.length > nodes.length) throw new RecordFault(ROOTLESS);
      path.push(place);
    }
    let depth = depths.get(place) ?? 0;
    for (const one of path.reverse()) depths.set(one, ++depth);
    return depth;
  };
  const leaves = nodes.flatMap((_, place) => (parents.has(place) ? [] : { place, depth: depthOf(place) }));
  return leaves.sort((a, b) => b.depth - a.depth || a.place - b.place).map(({ place }) => place);
}

/** The nodes from the root to a leaf of `leavesOf`. */
function pathTo(nodes: readonly Fields[], leaf: number): Fields[] {
  const path: Fields[] = [];
  for (let place: unknown = leaf; typeof place === 'number';) {
    const node: Fields | undefined = nodes[place];
    if (node === undefined) break;
    path.push(node);
    place = node['parent'];
  }
  return path.reverse();
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
