// Tier: integration.
import Anthropic from '@anthropic-ai/sdk';
import { CaptureServer } from '../../../../activities/rollout/capture/capture-server';
import { type CaptureOptions, EpisodeCapture } from '../../../../activities/rollout/capture/episode-capture';

const PLAN = { seed: 3, split: 'train' as const, trial: 0, model: 'adapter@1', samplingSeed: 700 };
const SETTINGS = { temperature: 0.5, maxTurns: 4, maxCompletionTokens: 64, successReward: 1 };
const CONVERSATION = { model: 'desk', messages: [{ role: 'user' as const, content: 'go' }], system: 'be short' };

let server: CaptureServer;
beforeEach(() => void (server = new CaptureServer()));
afterEach(() => server.close());

const open = async (countTokens?: CaptureOptions['countTokens']) => {
  const chat = (): Promise<never> => Promise.reject(new Error('An answer was asked for.'));
  const counting = countTokens && { countTokens };
  const capture = new EpisodeCapture({ plan: PLAN, settings: SETTINGS, chat, ...counting, model: 'desk' });
  const { url, key } = await server.open(capture);
  return { capture, anthropic: new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 }) };
};

test("the model's server counts, and nothing is recorded", async () => {
  const counted: unknown[] = [];
  const { anthropic, capture } = await open(async (request) => (counted.push(request), 21));
  expect(await anthropic.messages.countTokens(CONVERSATION)).toEqual({ input_tokens: 21 });
  const messages = [
    { role: 'system', content: 'be short' },
    { role: 'user', content: 'go' },
  ];
  expect(counted).toEqual([{ model: 'adapter@1', messages, tools: [] }]);
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'AA==' };
  await anthropic.messages.countTokens({
    model: 'desk',
    messages: [{ role: 'user', content: [{ type: 'image', source }] }],
  });
  expect(capture.captured).toMatchObject({ messages: [], leftOut: [] });
  expect(capture.tools).toBeNull();
  const other = anthropic.messages.countTokens({ ...CONVERSATION, model: 'other' });
  await expect(other).rejects.toMatchObject({ status: 404 });
});

test.each([
  ['that does not count', async (): Promise<null> => null, 501],
  ['of which nothing is known', undefined, 501],
  ['that is away', () => Promise.reject(new Error('http://inside:1')), 503],
] as const)('a server %s is an error for the program, and the episode goes on', async (_, countTokens, status) => {
  const { anthropic, capture } = await open(countTokens);
  const refused = anthropic.messages.countTokens(CONVERSATION);
  await expect(refused).rejects.toMatchObject({ status });
  await expect(refused).rejects.not.toThrow(/inside/);
  await expect(Promise.race([capture.failure, Promise.resolve('goes on')])).resolves.toBe('goes on');
});
