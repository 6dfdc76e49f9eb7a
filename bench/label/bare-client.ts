/** What `bench/label.ts` compares with: the same questions, asked through the `openai` client alone. */
import OpenAI from 'openai';
import { labelMessages, labelAnswerSchema } from '../../activities/label-prompt/label-messages';
import { strictJsonSchema } from '../../llm';
import { syntheticEpisode } from '../../test/fakes/synthetic-episodes';
import { CANDIDATES } from './labelling-service';

export interface BareClientOptions {
  stubUrl: string;
  trajectories: number;
  padding: number;
  concurrency: number;
}

/** Asks every pair once, `concurrency` calls at a time, and resolves with the seconds that it took. */
export async function bareSeconds({ stubUrl, trajectories, padding, concurrency }: BareClientOptions): Promise<number> {
  const client = new OpenAI({ baseURL: stubUrl, apiKey: 'none', maxRetries: 0, timeout: 120_000 });
  const schema = strictJsonSchema(labelAnswerSchema);
  const episodes = Array.from({ length: trajectories }, (_, i) => syntheticEpisode(i, padding));
  const answers: string[] = [];
  const total = trajectories * CANDIDATES.length;
  let next = 0;
  const worker = async () => {
    while (next < total) {
      const index = next++;
      const { messages } = episodes[Math.floor(index / CANDIDATES.length)]!;
      const completion = await client.chat.completions.create({
        model: 'stub-llm',
        messages: labelMessages(messages, CANDIDATES[index % CANDIDATES.length]!),
        response_format: { type: 'json_schema', json_schema: { name: 'label', strict: true, schema } },
      });
      answers[index] = completion.choices[0]?.message.content ?? '';
    }
  };
  const began = Date.now();
  await Promise.all(Array.from({ length: concurrency }, worker));
  return (Date.now() - began) / 1000;
}
