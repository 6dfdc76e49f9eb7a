// tier: integration
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brief, fixture, ingesting, REFUND } from '../ingested';

const { run } = ingesting();
const file = (name: string) => fixture(`openai/${name}.jsonl`);

it('reads a log of requests and answers as one conversation, with its outcome', async () => {
  const { conversations, read, result } = await run([file('log')]);
  expect(conversations.map(brief)).toEqual([REFUND]);
  expect(conversations[0]).toMatchObject({
    ...{ id: 'c-1', format: 'openai', model: 'small-1', startedAt: '2026-09-21T14:13:20.000Z' },
    tools: [{ function: { name: 'find_order' } }, { function: { name: 'refund' } }],
  });
  expect(read.trajectories).toMatchObject([{ success: true, reward: 1, steps: 2 }]);
  expect(result.formats).toMatchObject([{ format: 'openai', files: 1, records: 3, conversations: 1, withOutcome: 1 }]);
});

it('reads fine-tuning examples, which have no id', async () => {
  const { conversations } = await run([file('fine-tuning')]);
  expect(conversations.map(brief)).toEqual([REFUND]);
  expect(conversations[0]?.id).toMatch(/^[0-9a-f]{64}$/);
});

it("joins a batch's input and output, and names what failed", async () => {
  const { conversations, result } = await run([file('batch-output'), file('batch-input')]);
  expect(conversations.map(({ id, messages }) => [id, messages.length])).toEqual([
    ['request-0', 3],
    ['request-1', 5],
    ['request-2', 7],
  ]);
  expect(conversations.map(brief).at(-1)).toEqual(REFUND);
  expect(result.formats[0]?.leftOut).toEqual([
    {
      ...{ reason: 'the request failed, so that there is no answer', count: 1 },
      places: [expect.stringMatching(/batch-output\.jsonl:4$/)],
    },
  ]);
});

it('names the answers of two batches whose requests have the same names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-test-batches-'));
  for (const who of ['ann', 'bob']) {
    const body = { messages: [{ role: 'user', content: `I am ${who}` }] };
    const answer = { choices: [{ message: { role: 'assistant', content: `Hello, ${who}` } }] };
    writeFileSync(join(folder, `${who}-input.jsonl`), JSON.stringify({ custom_id: 'request-1', body }));
    writeFileSync(
      join(folder, `${who}-output.jsonl`),
      JSON.stringify({ custom_id: 'request-1', response: { status_code: 200, body: answer } }),
    );
  }
  const { conversations, result } = await run([folder]);
  rmSync(folder, { recursive: true });
  expect(conversations).toEqual([]);
  expect(result.formats[0]?.leftOut).toEqual([
    {
      reason: expect.stringContaining('an answer in a record of its own'),
      count: 2,
      places: ['request-1', 'request-1'],
    },
  ]);
});
