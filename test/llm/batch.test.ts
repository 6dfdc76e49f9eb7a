// tier: integration
import { z } from 'zod';
import { createAnalyst, type AnalystRequest } from '../../llm';
import { startFakeBatchEndpoint, type FakeBatchEndpoint } from '../fakes/batch-endpoint';

const schema = z.strictObject({ n: z.number() });
const numberOf = (messages: readonly { content: string }[]) => Number(messages[0]?.content);

let endpoint: FakeBatchEndpoint;
afterEach(() => endpoint.close());

const analyst = () =>
  createAnalyst({
    baseUrl: endpoint.url,
    apiKey: 'x',
    model: 'm',
    concurrency: 4,
    maxReasks: 1,
    timeoutMs: 60_000,
    maxTries: 1,
  });
const requests = (count: number): AnalystRequest<{ n: number }>[] =>
  Array.from({ length: count }, (_, n) => ({
    kind: 'label',
    key: `key-${n}`,
    messages: [{ role: 'user', content: `${n}` }],
    schema,
  }));

test('questions go up as one file, and the answers come back in their order with their usage', async () => {
  endpoint = await startFakeBatchEndpoint(({ messages }) => JSON.stringify({ n: numberOf(messages) }));
  const heard: string[] = [];
  const answers = await analyst().askBatch(requests(5), { pollMs: 5, onStatus: (status) => heard.push(status) });
  expect(answers.map(({ answer }) => answer?.value.n)).toEqual([0, 1, 2, 3, 4]);
  expect(answers[0]?.answer).toMatchObject({
    asks: 1,
    usage: { promptTokens: 100, completionTokens: 10, cachedTokens: 0 },
    model: 'm',
  });
  expect(endpoint.batches).toHaveLength(1);
  expect(endpoint.direct).toHaveLength(0);
  expect(heard[0]).toBe('batch_0 in_progress, 0 of 5');
  const [line] = [...endpoint.files.values()][0]!.split('\n');
  expect(JSON.parse(line as string)).toMatchObject({
    custom_id: 'key-0',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'm', response_format: {} },
  });
});

test('the same questions asked again attach to the batch that is there', async () => {
  endpoint = await startFakeBatchEndpoint(({ messages }) => JSON.stringify({ n: numberOf(messages) }));
  await analyst().askBatch(requests(3), { pollMs: 5 });
  const again = await analyst().askBatch(requests(3), { pollMs: 5 });
  expect(again.map(({ answer }) => answer?.value.n)).toEqual([0, 1, 2]);
  expect(endpoint.batches).toHaveLength(1);
  await analyst().askBatch(requests(4), { pollMs: 5 });
  expect(endpoint.batches).toHaveLength(2);
});

test('lines that failed or are not valid have no answer, and what they cost is said', async () => {
  endpoint = await startFakeBatchEndpoint(({ messages }) => [null, 'not JSON', '{"n":2}'][numberOf(messages)] ?? null);
  const answers = await analyst().askBatch(requests(3), { pollMs: 5 });
  expect(answers.map(({ answer, wasted }) => [answer?.value.n ?? null, wasted.promptTokens])).toEqual([
    [null, 0],
    [null, 100],
    [2, 100],
  ]);
});

test('a line of the output that is no JSON costs no other answer', async () => {
  endpoint = await startFakeBatchEndpoint(() => '{"n":2}', { junk: '{"custom_id": "key-9", "resp\nnull\n' });
  const answers = await analyst().askBatch(requests(2), { pollMs: 5 });
  expect(answers.map(({ answer }) => answer?.value.n)).toEqual([2, 2]);
});

test('an endpoint without a Batch API, and a batch that fails, are Analyst.BatchFailed', async () => {
  endpoint = await startFakeBatchEndpoint(() => '{"n":1}', { withoutBatches: true });
  await expect(analyst().askBatch(requests(1), { pollMs: 5 })).rejects.toMatchObject({
    type: 'Analyst.BatchFailed',
    message: expect.stringContaining('set analyst.mode to online'),
  });
  await endpoint.close();
  endpoint = await startFakeBatchEndpoint(() => '{"n":1}', { status: 'failed' });
  await expect(analyst().askBatch(requests(1), { pollMs: 5 })).rejects.toMatchObject({
    type: 'Analyst.BatchFailed',
    nonRetryable: true,
  });
});
