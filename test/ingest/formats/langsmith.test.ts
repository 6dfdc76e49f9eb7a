// tier: integration
import { brief, fixture, ingesting, REFUND } from '../ingested';

const { run } = ingesting();

it.each(['openai', 'langchain'])('reads runs of %s as one conversation, with the feedback', async (name) => {
  const { conversations, read } = await run([fixture(`langsmith/${name}.jsonl`)]);
  const plain = (lines: string[]) =>
    lines.map((line) => (line.startsWith('assistant') ? line.replace(/": "/g, '":"') : line));
  expect(conversations.map(brief).map(plain)).toEqual([plain(REFUND)]);
  expect(conversations[0]).toMatchObject({
    ...{ format: 'langsmith', model: 'small-1' },
    tools: [{ function: { name: 'find_order' } }, { function: { name: 'refund' } }],
  });
  expect(read.trajectories).toMatchObject([{ success: true, reward: 1, steps: 2 }]);
});
