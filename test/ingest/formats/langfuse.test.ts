// tier: integration
import { brief, fixture, ingesting, REFUND } from '../ingested';

const { run } = ingesting();
const file = (name: string) => fixture(`langfuse/${name}`);

it.each([[['trace.json']], [['download.json']], [['observations.jsonl', 'scores.json']]])(
  'reads %s as one conversation, with its score',
  async (names) => {
    const { conversations, read } = await run(names.map(file));
    expect(conversations.map(brief)).toEqual([REFUND]);
    expect(conversations[0]).toMatchObject({
      ...{ id: expect.stringMatching(/^[0-9a-f]{32}$/), format: 'langfuse', model: 'small-1' },
      tools: [{ function: { name: 'find_order' } }, { function: { name: 'refund' } }],
    });
    expect(read.trajectories).toMatchObject([{ success: true, reward: 1, steps: 2 }]);
  },
);

it('knows a conversation again in another form of export', async () => {
  await run([file('trace.json')], { agent: 'twice' });
  const { result } = await run([file('download.json'), file('observations.jsonl')], { agent: 'twice' });
  expect(result).toMatchObject({ formats: [{ conversations: 1, added: 0, known: 1 }], outcomes: 0 });
});
