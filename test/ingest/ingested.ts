import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Conversation } from '../../contracts/artifacts/conversation';
import { ingest, type IngestResult } from '../../ingest';
import { ingestedConversations, LocalStore, readIngested } from '../../store';

/** Options of `ingest` that tests change. */
type Options = Partial<Parameters<typeof ingest>[1]>;

/** What an ingest stored and said. */
interface Ingested {
  result: IngestResult;
  /** By their ids. */
  conversations: Conversation[];
  /** By conversation: success and reward. */
  read: Awaited<ReturnType<typeof readIngested>>;
}

const NOW = Date.parse('2026-11-29T12:00:00Z');

/** A file of the fixtures. */
export const fixture = (name: string): string => resolve(__dirname, '../fixtures/traces', name);

/** Folders for the tests of a file, and an agent's store in one of them. */
export function ingesting() {
  const folder = mkdtempSync(join(tmpdir(), 'whet-test-ingest-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const store = new LocalStore(join(folder, 'store'));
  let agents = 0;
  const run = async (files: string[], options: Options = {}): Promise<Ingested> => {
    const agent = options.agent ?? `agent-${++agents}`;
    const result = await ingest(store, {
      ...{ agent, files, format: null, outcomes: null, pass: null, redact: (message) => message, now: NOW },
      ...options,
    });
    const conversations: Conversation[] = [];
    for await (const { lines } of ingestedConversations(store, agent))
      conversations.push(...[...lines].filter((line) => line !== null));
    conversations.sort((a, b) => (a.id < b.id ? -1 : 1));
    return { result, conversations, read: await readIngested(store, agent) };
  };
  return { folder, store, run };
}

/** A conversation in short: each message as its role and its calls or its text. */
export const brief = ({ messages }: Pick<Conversation, 'messages'>): string[] =>
  messages.map(
    ({ role, content, tool_calls: calls = [] }) =>
      `${role}: ${[content ?? '', ...calls.map(({ function: { name, arguments: text } }) => `${name}(${text})`)].join(' ').trim()}`,
  );

/** The conversation that every fixture tells. */
export const REFUND = [
  'system: You are the support agent of a shop. Look an order up before you refund it.',
  'user: My order A-17 arrived broken. Please refund it.',
  'assistant: find_order({"order": "A-17"})',
  'tool: {"order": "A-17", "status": "delivered", "total": 12.5}',
  'assistant: refund({"order": "A-17"})',
  'tool: {"refunded": true}',
  'assistant: I have refunded 12.50 for order A-17.',
];
