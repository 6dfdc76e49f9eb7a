// tier: unit
import { askReader, type Reader } from '../../../activities/second-reader/ask-reader';
import type { AnalystMessage } from '../../../llm';

test('a prompt with several episodes is no longer than agent.yaml allows', async () => {
  const maxPromptTokens = 4_000;
  const prompts: string[] = [];
  const ask = ({ messages }: { messages: AnalystMessage[] }) => {
    const prompt = messages.map(({ content }) => content).join('\n');
    prompts.push(prompt);
    const labels = [...prompt.matchAll(/^Episode (\d+):$/gm)].map(([, episode]) => ({
      ...{ episode: Number(episode), reason: 'it says so', step: null, label: 'NA' as const },
    }));
    return Promise.resolve({ value: { labels } });
  };
  const reader = {
    ...{ calls: { records: [], ask } as unknown as Reader['calls'], model: 'm', maxPromptTokens },
    capability: { id: 'check', name: 'Check it', summary: 'checks', description: 'The agent checks it.' },
  };
  const episodes = [7_900, 3_900, 3_900, 3_900, 200].map((length, seed) => [
    { role: 'user' as const, content: `${seed} ${'x'.repeat(length)}` },
  ]);
  expect(await askReader(reader, episodes)).toHaveLength(5);
  // Few texts have fewer than three characters per token.
  expect(prompts.map((prompt) => prompt.length <= 3 * maxPromptTokens)).toEqual(prompts.map(() => true));
  expect(prompts.length).toBeLessThan(5);
});
