// tier: integration
import { type Conversation, type Outcome } from '../../contracts/artifacts/conversation';
import { forget } from '../../ingest/forget';
import { layout, putLines } from '../../store';
import { temporaryStore } from '../store/temporary-store';

const { store } = temporaryStore();
const AT = '2026-11-01T00:00:00.000Z';
const conversation = (id: string, ...aliases: string[]): Conversation => ({
  ...{ id, aliases, format: 'langfuse', model: null, startedAt: null, at: AT },
  messages: [{ role: 'user', content: 'hi' }],
});
const outcome = (name: string): Outcome => ({ conversation: name, success: true, reward: 1, from: 'trace', at: AT });

it('removes the outcomes of its traces, and leaves those of others and lines that it cannot read', async () => {
  const [conversations, outcomes] = [layout.ingestedConversations('a'), layout.ingestedOutcomes('a')];
  const later = { version: 2, says: 'something new' };
  const all = [later, conversation('s', 't1', 'shared'), conversation('other', 'shared')];
  await putLines(store, conversations, 'conversations.jsonl', all);
  await putLines(store, conversations, 'conversations.jsonl', [conversation('s', 't2')]);
  await putLines(store, outcomes, 'outcomes.jsonl', [...['s', 't1', 't2', 'shared', 'other'].map(outcome), later]);
  expect(await forget(store, 'a', 's')).toMatchObject({ conversations: 2, outcomes: 3 });
  const left = async (directory: string) => {
    const names = await store.list(directory);
    return (await Promise.all(names.map((name) => store.getNamed(`${directory}/${name}`)))).join('').split('\n');
  };
  const lines = (...values: unknown[]) => [...values.map((value) => JSON.stringify(value)), ''];
  expect(await left(conversations)).toEqual(lines(later, all[2]));
  expect(await left(outcomes)).toEqual(lines(outcome('shared'), outcome('other'), later));
});
