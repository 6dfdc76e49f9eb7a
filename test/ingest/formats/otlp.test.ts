// tier: integration
import { brief, fixture, ingesting, REFUND } from '../ingested';

const { run } = ingesting();

it.each(['openllmetry', 'openllmetry-0.40', 'openinference', 'gen-ai-events'])(
  'reads what %s exports as one conversation, with its evaluation',
  async (name) => {
    const { conversations, read } = await run([fixture(`otlp/${name}.jsonl`)]);
    // Some instrumentations write arguments without spaces.
    const plain = (lines: string[]) =>
      lines.map((line) => (line.startsWith('assistant') ? line.replace(/": "/g, '":"') : line));
    expect(conversations.map(brief).map(plain)).toEqual([plain(REFUND)]);
    expect(conversations[0]).toMatchObject({
      ...{ id: expect.stringMatching(/^[0-9a-f]{32}$/), format: 'otlp' },
      startedAt: expect.stringMatching(/^2026-11-29T/),
    });
    expect(Object.keys(conversations[0] ?? {})).not.toEqual(expect.arrayContaining(['branches', 'leftOut']));
    expect(read.trajectories).toMatchObject([{ success: true, reward: 1, steps: 2 }]);
  },
);

it.each(['openllmetry', 'openllmetry-0.40', 'openinference'])('keeps model and tools of %s', async (name) => {
  const { conversations } = await run([fixture(`otlp/${name}.jsonl`)]);
  expect(conversations[0]).toMatchObject({
    model: 'small-1',
    tools: [
      { function: { name: 'find_order', description: 'Look an order up.', parameters: { type: 'object' } } },
      { function: { name: 'refund' } },
    ],
  });
});

it('reads what the AI SDK exports', async () => {
  const { conversations } = await run([fixture('otlp/ai-sdk.jsonl')]);
  const plain = (lines: string[]) => lines.map((line) => line.replace(/([":,]) (?=["\d{t])/g, '$1'));
  expect(conversations.map(brief).map(plain)).toEqual([plain(REFUND)]);
  expect(conversations[0]).toMatchObject({
    model: 'small-1',
    tools: [{ function: { name: 'find_order', parameters: { type: 'object' } } }, { function: { name: 'refund' } }],
  });
});
