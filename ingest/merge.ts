import { hash } from 'node:crypto';
import type { Conversation } from '../contracts/artifacts/conversation';
import type { ChatMessage, LeftOut } from '../contracts/artifacts/trajectory';
import { aliasesOf, type Fragment } from './fragment';

const AMBIGUOUS = 'an answer in a record of its own, whose id (custom_id) several requests or answers have';

/** Most further conversations of one key whose messages are kept. */
const KEPT_BRANCHES = 8;

/** A conversation that grows from fragment to fragment. */
interface Thread {
  messages: ChatMessage[];
  /** Places of the messages that count for the comparison: all but the system's, whose text may hold the time. */
  counted: number[];
  /** Hash of the counted messages up to each of them. */
  chain: string[];
  leftOut: readonly LeftOut[];
  fragments: Fragment[];
}

/**
 * The conversations that fragments of one key tell: one, unless they have only their opening in common. Each fragment
 * extends the conversation whose messages it begins with, as the next request of an agent does; what it says of them is
 * then known already. The one with the most messages is the conversation; what does not belong to it, such as what
 * sub-agents asked, are its branches.
 * @param leaveOut is told why an answer is in none.
 */
export function merged(
  fragments: readonly Fragment[],
  at: string,
  leaveOut: (reason: string) => void = () => undefined,
): Conversation[] {
  const all = wholes(inOrder(fragments));
  const threads = threadsOf(all.filter(({ isAnswer }) => isAnswer !== true));
  const answers = all.filter(({ isAnswer }) => isAnswer === true);
  const unjoined = joinAnswers(threads, answers);
  for (let count = 0; count < unjoined; count++) leaveOut(AMBIGUOUS);
  // Whose requests they are is not certain either.
  if (threads.length === 0 || (unjoined > 0 && threads.length > 1)) return [];
  if (fragments[0]?.isOpening === true) return threads.map((thread) => conversationOf(thread, [], at));
  const groups = byTrace(threads);
  return groups.map((group) => {
    const main = group.reduce((best, thread) => (thread.messages.length > best.messages.length ? thread : best));
    const others = group.filter((thread) => thread !== main);
    return conversationOf(main, others, at, groups.length > 1);
  });
}

/** Threads that have a trace in common. A session may hold several conversations, each in traces of its own. */
function byTrace(threads: readonly Thread[]): Thread[][] {
  const groups = new Map<string | null, { traces: (string | null)[]; threads: Thread[] }>();
  for (const thread of threads) {
    // What names no trace is in the same one.
    const traces = new Set(thread.fragments.map(({ trace = null }) => trace));
    const joined = [...new Set([...traces].flatMap((trace) => groups.get(trace) ?? []))];
    const [group = { traces: [], threads: [] }, ...others] = joined.sort((a, b) => b.traces.length - a.traces.length);
    for (const one of others.flatMap((other) => other.threads)) group.threads.push(one);
    group.threads.push(thread);
    for (const trace of [...others.flatMap((other) => other.traces), ...traces]) {
      if (groups.get(trace) !== group) group.traces.push(trace);
      groups.set(trace, group);
    }
  }
  return [...new Set(groups.values())].map((group) => group.threads);
}

function conversationOf(main: Thread, others: readonly Thread[], at: string, isOneOfSeveral = false): Conversation {
  const all = [main, ...others].flatMap(({ fragments }) => fragments);
  const last = main.fragments.at(-1) as Fragment;
  const id =
    (last.isOpening === true ? firstOf(main).aliases?.[0] : isOneOfSeveral ? firstOf(main).trace : null) ?? last.key;
  const models = new Set(all.flatMap(({ model }) => model ?? []));
  const branches = all.flatMap(({ branches }) => branches ?? []);
  const kept = [...others.map(({ messages }) => messages), ...branches.flatMap(({ kept }) => kept)];
  const count = others.length + branches.reduce((sum, { count }) => sum + count, 0);
  // Scores name traces more often than requests, and not all ids may be kept.
  const aliases = aliasesOf(id, [
    ...all.map(({ trace }) => trace),
    ...all.flatMap(({ key, isOpening }) => (isOpening === true ? [] : key)),
    ...all.flatMap(({ aliases = [] }) => aliases),
  ]);
  const tools = main.fragments.findLast(({ tools }) => tools !== undefined)?.tools;
  const seed = all.find(({ seed }) => seed !== undefined)?.seed;
  return {
    id,
    ...(aliases.length > 0 && { aliases }),
    format: last.format,
    model: models.size === 1 ? ([...models][0] as string) : null,
    startedAt: main.fragments.flatMap(({ startedAt }) => startedAt ?? []).sort()[0] ?? null,
    messages: main.messages,
    ...(count > 0 && { branches: { count, kept: kept.slice(0, KEPT_BRANCHES) } }),
    ...(tools && { tools }),
    ...(main.leftOut.length > 0 && { leftOut: [...new Set(main.leftOut)].sort() }),
    ...(seed !== undefined && { seed }),
    at,
  };
}

/** The request with which a conversation began: it is the same however far the conversation has gone since. */
function firstOf({ fragments }: Thread): Fragment {
  const [some, ...others] = fragments.filter(({ isAnswer }) => isAnswer !== true);
  return others.reduce((first, one) => (isBefore(one, first) ? one : first), some ?? (fragments[0] as Fragment));
}

function isBefore(one: Fragment, other: Fragment): boolean {
  if (one.messages.length !== other.messages.length) return one.messages.length < other.messages.length;
  return one.startedAt !== null && other.startedAt !== null && one.startedAt < other.startedAt;
}

/** By their times; answers after what they answer. Those without a time stay where they are read. */
const inOrder = (fragments: readonly Fragment[]): Fragment[] =>
  fragments
    .map((fragment, place) => ({ fragment, place }))
    .sort(
      ({ fragment: a, place: one }, { fragment: b, place: other }) =>
        Number(a.isAnswer ?? false) - Number(b.isAnswer ?? false) ||
        (a.startedAt !== null && b.startedAt !== null && a.startedAt !== b.startedAt
          ? a.startedAt < b.startedAt
            ? -1
            : 1
          : one - other),
    )
    .map(({ fragment }) => fragment);

/** Fragments with all messages of their requests; a request is where its first piece was. */
function wholes(fragments: readonly Fragment[]): Fragment[] {
  const requests = new Map<string, Fragment>();
  return fragments.flatMap((fragment) => {
    const { piece, messages, leftOut } = fragment;
    if (piece === undefined) return fragment;
    const request = requests.get(piece);
    if (request === undefined) {
      const first = { ...fragment, messages: [...messages], leftOut: [...leftOut] };
      requests.set(piece, first);
      return first;
    }
    for (const message of messages) request.messages.push(message);
    for (const what of leftOut) request.leftOut.push(what);
    return [];
  });
}

/** The conversations that fragments tell, in the order in which they begin. */
function threadsOf(fragments: readonly Fragment[]): Thread[] {
  const threads: Thread[] = [];
  // Many may have the same opening. Of each place in a thread the hash tells all that came before.
  const containing = new Map<string, Thread>();
  const ending = new Map<string, Thread>();
  for (const fragment of fragments) {
    const next = threadOf(fragment.messages, fragment.leftOut, [fragment]);
    const container = containing.get(next.chain.at(-1) ?? '');
    if (container !== undefined) {
      container.fragments.push(fragment);
      continue;
    }
    const before = next.chain.map((link) => ending.get(link)).findLast((thread) => thread !== undefined);
    if (before === undefined) threads.push(next);
    else ending.delete(before.chain.at(-1) ?? '');
    const thread = before === undefined ? next : Object.assign(before, extended(before, next));
    for (const link of thread.chain) if (!containing.has(link)) containing.set(link, thread);
    if (thread.chain.length > 0) ending.set(thread.chain.at(-1) as string, thread);
  }
  return threads;
}

/**
 * Adds answers that come in records of their own. Only their id tells what they answer, so that one can be joined only
 * where one conversation waits for it.
 * @returns how many answers cannot be joined.
 */
function joinAnswers(threads: Thread[], answers: readonly Fragment[]): number {
  // The same answer in two files is one.
  const different = new Map<string, Fragment[]>();
  for (const answer of answers) {
    const words = endOf(answer.messages);
    const same = different.get(words);
    if (same === undefined) different.set(words, [answer]);
    else same.push(answer);
  }
  const [thread] = threads;
  const isWaiting = threads.length === 1 && thread?.messages.at(-1)?.role !== 'assistant';
  let rest = [...different.values()];
  if (!(isWaiting && rest.length === 1)) rest = untold(threads, different);
  const [same, ...others] = rest;
  if (same === undefined) return 0;
  if (others.length > 0 || threads.length > 1) return rest.reduce((sum, { length }) => sum + length, 0);
  const [{ messages, leftOut }] = same as [Fragment];
  const { messages: before = [], leftOut: missing = [], fragments = [] } = thread ?? {};
  threads[0] = threadOf([...before, ...messages], [...missing, ...leftOut], [...fragments, ...same]);
  return 0;
}

/** The answers that no conversation has yet. Of the others the fragments belong to the one that has them. */
function untold(threads: readonly Thread[], answers: ReadonlyMap<string, readonly Fragment[]>): Fragment[][] {
  if (answers.size === 0) return [];
  const told = new Map<string, Thread>();
  for (const thread of threads) for (const message of thread.messages) told.set(endOf([message]), thread);
  return [...answers].flatMap(([words, same]) => {
    const thread = told.get(words);
    for (const fragment of same) thread?.fragments.push(fragment);
    return thread === undefined ? [[...same]] : [];
  });
}

/** What the last message says, in short. */
const endOf = (messages: readonly ChatMessage[]): string => chainOf(messages.slice(-1))[0] ?? '';

/** The thread with what is new: requests often repeat answers without the reasoning that came with them. */
function extended(before: Thread, next: Thread): Thread {
  const known = (before.counted.at(-1) ?? -1) + 1;
  const from = (next.counted[before.chain.length - 1] ?? -1) + 1;
  return threadOf(
    [...before.messages.slice(0, known), ...next.messages.slice(from)],
    // What is missing of the answer is there in the next request, if it is in it.
    [...before.leftOut.filter((what) => what !== 'end'), ...next.leftOut],
    [...before.fragments, ...next.fragments],
  );
}

function threadOf(messages: ChatMessage[], leftOut: readonly LeftOut[], fragments: Fragment[]): Thread {
  const counted = messages.flatMap(({ role }, place) => (role === 'system' ? [] : place));
  return {
    messages,
    counted,
    chain: chainOf(counted.map((place) => messages[place] as ChatMessage)),
    leftOut,
    fragments,
  };
}

function chainOf(messages: readonly ChatMessage[]): string[] {
  let link = '';
  return messages.map((message) => (link = hash('sha1', link + wordsOf(message), 'base64')));
}

/** What two records of a message have in common: ids of calls and reasoning may differ. */
const wordsOf = ({ role, content, tool_calls: calls = [] }: ChatMessage): string =>
  JSON.stringify([
    role,
    content?.trim() ?? '',
    calls.map(({ function: { name, arguments: text } }) => [name, plain(text)]),
  ]);

const plain = (text: string): string => text.replace(/\s+/g, '');
