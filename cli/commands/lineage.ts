import { cleanLine, startOf } from '../../contracts/clean-text';
import { LocalStore } from '../../store';
import type { Context } from '../context';
import { CliError } from '../errors';
import { LINEAGE_KINDS, type LineageGraph, type LineageItem, type LineageKind } from '../lineage/graph';
import { readLineage, type StoreLineage } from '../lineage/read-lineage';

/** Largest number of shown items of a kind, in text and as JSON; the count includes all. */
const SHOWN = { text: 5, json: 100 } as const;
/** Fewest digits that count as the beginning of a hash. */
const LEAST_DIGITS = 8;

const KINDS = `A trajectory or conversation (its id), a capability (its id, or AGENT/ID), an environment (the hash of its
source), a training (RUN/CAPABILITY), an adapter (name or hash) or a version (AGENT@NUMBER); of ids that are hashes the
first ${LEAST_DIGITS} digits are enough.`;

/** The origins of an item, or its results, of one kind. */
interface LineageGroup {
  kind: LineageKind;
  count: number;
  items: LineageItem[];
}

/**
 * `whet lineage ID`: the origin of an item in the store and the results that came from it, using only the store. Files
 * that cannot be read are listed, and the exit code is still 0.
 */
export async function lineageCommand({ settings, out }: Context, id: string): Promise<void> {
  const { graph, damaged } = await readLineage(new LocalStore(settings.storeRoot));
  const found = lookUp(graph, id);
  const [[, item] = []] = found;
  const leftOut = leftOutText(damaged);
  if (item === undefined)
    throw new CliError(
      [
        `No report or registry in ${settings.storeRoot} names an item with the id ${given(id)}.`,
        KINDS,
        ...leftOut,
      ].join('\n'),
      { type: 'Lineage.NotFound' },
    );
  const others = [...new Set(found.map(([, one]) => nameOf(one)))];
  if (others.length > 1)
    throw new CliError(
      `${given(id)} can be ${others.length} things: ${others.slice(0, SHOWN.text).join('; ')}. Name one of them in full.`,
      { type: 'Lineage.NotFound' },
    );
  const keys = found.map(([key]) => key);
  const from = grouped(graph.ancestors(keys));
  const to = grouped(graph.descendants(keys));
  const bounded = (groups: LineageGroup[]) =>
    groups.map((group) => ({ ...group, items: group.items.slice(0, SHOWN.json) }));
  const text = [lineOf(item), ...section('came from', from), ...section('what came from it', to), ...leftOut].join(
    '\n',
  );
  out.result({ ...item, from: bounded(from), to: bounded(to), damaged }, text);
}

/** Everything with this id, or with a hash that begins with it. */
function lookUp(graph: LineageGraph, id: string): ReturnType<LineageGraph['find']> {
  const exact = graph.find((item) => item.id === id || `${item.agent}/${item.id}` === id);
  if (exact.length > 0) return withoutTwins(exact);
  if (!/^[0-9a-f]+$/.test(id) || id.length < LEAST_DIGITS) return [];
  return withoutTwins(graph.find((_, key) => hashOf(key)?.startsWith(id) === true));
}

/** The hash in a key such as `adapter 4f0c...`; null if the key has none. */
const hashOf = (key: string): string | null => / ([0-9a-f]{64})$/.exec(key)?.[1] ?? null;

/** A conversation that a run has collected is also a trajectory: it is shown as the conversation. */
function withoutTwins(found: ReturnType<LineageGraph['find']>): ReturnType<LineageGraph['find']> {
  const conversations = new Set(found.flatMap(([, { kind, id }]) => (kind === 'conversation' ? [id] : [])));
  return found.filter(([, { kind, id }]) => kind !== 'trajectory' || !conversations.has(id));
}

/** Items by kind, each once: the graph has a capability once for each run. */
function grouped(items: readonly LineageItem[]): LineageGroup[] {
  return LINEAGE_KINDS.flatMap((kind) => {
    const all = new Map(items.filter((item) => item.kind === kind).map((item) => [`${item.agent} ${item.id}`, item]));
    const sorted = [...all.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return sorted.length === 0 ? [] : [{ kind, count: sorted.length, items: sorted }];
  });
}

function section(title: string, groups: readonly LineageGroup[]): string[] {
  if (groups.length === 0) return [`${title}: nothing that the store has a record of`];
  return [
    `${title}:`,
    ...groups.flatMap(({ count, items }) => [
      ...items.slice(0, SHOWN.text).map((item) => `  ${lineOf(item)}`),
      ...(count > SHOWN.text ? [`  and ${count - SHOWN.text} more, ${count} in all`] : []),
    ]),
  ];
}

function leftOutText(damaged: StoreLineage['damaged']): string[] {
  const lines = damaged.map(({ file, problem }) => `Left out, because it is damaged: ${file}: ${cleanLine(problem)}`);
  const more = lines.length - SHOWN.text;
  return [...lines.slice(0, SHOWN.text), ...(more > 0 ? [`and ${more} more damaged files (--json lists them)`] : [])];
}

const WIDTH = Math.max(...LINEAGE_KINDS.map(({ length }) => length));
/** Names and ids come from the analyst and from the gateway's clients, so they must not control the terminal. */
const lineOf = ({ kind, id, about }: LineageItem): string =>
  `${kind.padEnd(WIDTH)}  ${cleanLine(about ? `${id}  (${about})` : id)}`;
const nameOf = ({ kind, id, agent }: LineageItem): string => cleanLine(`${kind} ${agent}/${id}`);
const given = (id: string): string => JSON.stringify(startOf(cleanLine(id), 100));
