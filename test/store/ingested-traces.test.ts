// tier: integration
import type { Conversation, Outcome } from '../../contracts/artifacts/conversation';
import { conversationSeed } from '../../contracts/artifacts/trajectory-id';
import { layout, putLines, readIngested } from '../../store';
import { temporaryStore } from './temporary-store';

const DAY = (day: number) => `2026-11-0${day}T00:00:00.000Z`;

const conversation = (id: string, turns: number, change: Partial<Conversation> = {}): Conversation => ({
  id,
  format: 'openai',
  model: 'small',
  startedAt: null,
  messages: Array.from({ length: turns }, (_, turn) => ({ role: 'user', content: `${id}, turn ${turn}` })),
  at: DAY(1),
  ...change,
});
const outcome = (name: string, reward: number, at = DAY(1), from: Outcome['from'] = 'trace'): Outcome => ({
  ...{ conversation: name, reward, success: reward === 1, from, at },
});

describe('ingested conversations', () => {
  const { store } = temporaryStore();
  let agents = 0;
  /** Stores each list as a file of its own, and reads all. */
  const read = async (conversations: Conversation[][], outcomes: Outcome[][], most?: number) => {
    const agent = `agent-${++agents}`;
    for (const lines of conversations)
      await putLines(store, layout.ingestedConversations(agent), 'conversations.jsonl', lines);
    for (const lines of outcomes) await putLines(store, layout.ingestedOutcomes(agent), 'outcomes.jsonl', lines);
    return readIngested(store, agent, { ...(most && { most }) });
  };
  const brief = ({ trajectories }: Awaited<ReturnType<typeof read>>) =>
    trajectories.map(({ messages, reward }) => `${messages.at(-1)?.content} ${reward}`).sort();

  it('come with their outcomes, as live conversations', async () => {
    const call = { id: 'c', type: 'function' as const, function: { name: 'find', arguments: '{}' } };
    const messages: Conversation['messages'] = [{ role: 'assistant', content: null, tool_calls: [call, call] }];
    const { trajectories, counts, tools } = await read(
      [[conversation('a', 1, { messages, tools: [{ function: { name: 'find' } }] }), conversation('b', 2)]],
      [[outcome('a', 1)]],
    );
    expect(trajectories).toEqual([
      expect.objectContaining({
        task: { seed: conversationSeed('a'), split: 'live' },
        ...{ model: 'small', messages, reward: 1, success: true, finish: 'done', steps: 2 },
      }),
    ]);
    expect(tools).toEqual([{ function: { name: 'find' } }]);
    expect(counts).toEqual({ conversations: 2, withoutOutcome: 1, unreadable: 0 });
  });

  it('take the latest outcome, but that of a file before that of a rule and of the traces', async () => {
    const found = await read(
      [['a', 'b', 'c'].map((id) => conversation(id, 1))],
      [
        [outcome('a', 1, DAY(2)), outcome('b', 0, DAY(2), 'file'), outcome('c', 0, DAY(1), 'rule')],
        [outcome('a', 0), outcome('b', 1, DAY(3), 'rule'), outcome('b', 1, DAY(3)), outcome('c', 1, DAY(2))],
      ],
    );
    expect(brief(found)).toEqual(['a, turn 0 1', 'b, turn 0 0', 'c, turn 0 0']);
  });

  it('are found by an alias, but an outcome of their id counts more', async () => {
    const found = await read(
      [[conversation('a', 1, { aliases: ['trace'] }), conversation('b', 1, { aliases: ['trace'] })]],
      [[outcome('trace', 1, DAY(2)), outcome('b', 0)]],
    );
    expect(brief(found)).toEqual(['a, turn 0 1', 'b, turn 0 0']);
  });

  it('have no outcome where their traces disagree, unless a source that counts more says it', async () => {
    const aliases = ['t1', 't2', 't3'];
    const all = ['a', 'b', 'c'].map((id) => conversation(id, 1, { aliases: aliases.map((name) => `${id} ${name}`) }));
    const found = await read(
      [all, [conversation('b', 1, { aliases: ['b t4'] })]],
      [
        [outcome('a t1', 1), outcome('a t2', 1), outcome('a t3', 0)],
        [outcome('b t2', 1), { ...outcome('b t3', 0.75), success: true }, { ...outcome('b t4', 0.5), success: true }],
        [outcome('c', 1), outcome('c t2', 0, DAY(1), 'file')],
      ],
    );
    expect(brief(found)).toEqual(['b, turn 0 0.75', 'c, turn 0 0']);
    expect(found.counts).toEqual({ conversations: 3, withoutOutcome: 1, unreadable: 0 });
  });

  it('are returned once, in their longest and then their latest version', async () => {
    const again = conversation('b', 1, { model: 'later', at: DAY(2) });
    const found = await read(
      [
        [conversation('a', 3), conversation('b', 1)],
        [conversation('a', 2, { at: DAY(2) }), again],
      ],
      [[outcome('a', 1), outcome('b', 1)]],
    );
    expect(brief(found)).toEqual(['a, turn 2 1', 'b, turn 0 1']);
    expect(found.trajectories.map(({ model }) => model).sort()).toEqual(['later', 'small']);
    expect(found.counts.conversations).toBe(2);
  });

  it('are told apart where two formats have the same id', async () => {
    const found = await read(
      [[conversation('42', 2), conversation('42', 3, { format: 'langfuse' })]],
      [[outcome('42', 1)]],
    );
    expect(brief(found)).toEqual(['42, turn 1 1', '42, turn 2 1']);
    expect(found.counts.conversations).toBe(2);
    expect(new Set(found.trajectories.map(({ task }) => task.seed)).size).toBe(2);
  });

  it('are the newest where there are more than wanted', async () => {
    const started = [1, 3, 2].map((day) => conversation(`day ${day}`, 1, { startedAt: DAY(day) }));
    const outcomes = [...started.map(({ id }) => outcome(id, 1)), outcome('old', 1)];
    expect(brief(await read([[conversation('old', 1), ...started]], [outcomes], 2))).toEqual([
      'day 2, turn 0 1',
      'day 3, turn 0 1',
    ]);
  });

  it('leave out lines that are none, and count them', async () => {
    const found = await read([[conversation('a', 1), {} as Conversation]], [[outcome('a', 1), {} as Outcome]]);
    expect(brief(found)).toEqual(['a, turn 0 1']);
    expect(found.counts).toEqual({ conversations: 1, withoutOutcome: 0, unreadable: 2 });
  });

  it('have a model that no model is where the source names none', async () => {
    const { trajectories } = await read([[conversation('a', 1, { model: null })]], [[outcome('a', 1)]]);
    expect(trajectories[0]?.model).toBe('(unknown)');
  });
});
