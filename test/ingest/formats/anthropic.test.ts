// tier: integration
import { brief, fixture, ingesting, REFUND } from '../ingested';

const { run } = ingesting();
const file = (name: string) => fixture(`anthropic/${name}.jsonl`);
/** Each call comes with a sentence, and its arguments are written without spaces. */
const SAID = REFUND.map((line) =>
  line.replace(/^assistant: (\w+)\({"order": "A-17"}\)/, 'assistant: One moment. $1({"order":"A-17"})'),
);

it('reads a log of requests and answers as one conversation', async () => {
  const { conversations } = await run([file('log')]);
  expect(conversations.map(brief)).toEqual([SAID]);
  expect(conversations[0]).toMatchObject({
    ...{ id: 's-1', format: 'anthropic', model: 'claude-x' },
    tools: [{ function: { name: 'find_order', parameters: { type: 'object' } } }, { function: { name: 'refund' } }],
  });
});

it('joins requests that name no conversation where one continues the other', async () => {
  const { conversations } = await run([file('requests')]);
  expect(conversations.map(brief)).toEqual([SAID.slice(0, -1)]);
});

it("joins a batch's requests and results, and names what failed", async () => {
  const { conversations, result } = await run([file('batch-output'), file('batch-input')]);
  expect(conversations.map(({ id, messages }) => [id, messages.length])).toEqual([
    ['q-0', 3],
    ['q-1', 5],
    ['q-2', 7],
  ]);
  expect(conversations.map(brief).at(-1)).toEqual(SAID);
  expect(result.formats[0]?.leftOut).toMatchObject([
    { reason: 'the request failed, so that there is no answer', count: 1 },
  ]);
});
