import type { FakeAnswer, WireRequest } from '../../../fakes/policy-server';

const MOST_TURNS = 5;

/**
 * A model for the orders desk whose answers follow from the request alone: several calls at once, calls that are wrong
 * in every way, reasoning, texts, and ends of all kinds.
 */
export function scriptedDesk({ messages, seed }: WireRequest): FakeAnswer {
  const turns = messages.filter(({ role }) => role === 'assistant').length;
  const said = messages.find(({ role }) => role === 'user')?.content ?? '';
  const order = /\d+/.exec(said)?.[0] ?? '1';
  const choice = (Math.imul(seed, 2654435761) >>> 0) % 7;
  const read = { name: 'get_order', arguments: { order } };
  const reasoning = seed % 3 === 0 ? { reasoning: `turn ${turns}` } : {};
  if (turns >= MOST_TURNS || choice === 6) return { content: 'I am done.', cut: seed % 2 === 0 };
  if (choice === 5) return { ...reasoning, calls: [{ name: 'reply', arguments: { text: `${order} refunded` } }] };
  if (choice === 4) return { calls: [{ name: 'get_order', arguments: '{"order": ' }, read] };
  if (choice === 3) return { content: 'Let me see.', calls: [{ name: 'no_such_tool', arguments: { order } }] };
  if (choice === 2) return { ...reasoning, calls: [read, { name: 'cancel_order', arguments: { order } }] };
  return { ...reasoning, content: '', calls: [read] };
}
