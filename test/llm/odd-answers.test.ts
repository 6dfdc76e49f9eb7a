// tier: integration
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { createAnalyst, refusalOfOneQuestion } from '../../llm';
import { FORMS } from '../fakes/hostile-forms';
import { type Form, sendReply } from '../fakes/hostile-model-server';
import { type FakeAnalyst, type FakeAnalystAnswer, startFakeAnalyst } from '../fakes/analyst-endpoint';

const schema = z.strictObject({ label: z.enum(['A', 'B']) });
const RIGHT = '{"label":"A"}';

let endpoint: FakeAnalyst;
let answer: (index: number) => FakeAnalystAnswer;
let asked = 0;
beforeAll(async () => void (endpoint = await startFakeAnalyst((_, index) => answer(index))));
afterAll(() => endpoint.close());

/** Asks one question whose answers come in this form: all of them, or the first one. */
async function askIn({ reply, analyst }: Form) {
  const first = asked;
  const odd: FakeAnalystAnswer = (response) => sendReply(response, reply({ content: RIGHT, calls: [] }));
  answer = (index) => {
    asked = index + 1;
    return analyst === 'sent again' && index > first ? { content: RIGHT } : odd;
  };
  const options = { baseUrl: endpoint.url, apiKey: 'key-1', model: 'm-1', concurrency: 4, maxReasks: 1 };
  const client = createAnalyst({ ...options, timeoutMs: 60_000, maxTries: 2, firstWaitMs: 1, longestWaitMs: 1 });
  const messages = [{ role: 'user' as const, content: 'which?' }];
  return client.ask({ kind: 'label', key: String(first).padStart(64, '0'), messages, schema });
}

const forms = FORMS.filter(({ analyst }) => analyst !== undefined);

test.each(forms)('$name ($source)', async (form) => {
  const outcome = form.analyst!;
  const asking = askIn(form);
  if (typeof outcome === 'string') {
    const { value, asks, tries, usage, model } = await asking;
    expect([value, asks, tries]).toEqual([{ label: 'A' }, 1, outcome === 'sent again' ? 2 : 1]);
    expect([typeof model, ...Object.values(usage).map((count) => Number.isSafeInteger(count) && count >= 0)]).toEqual([
      'string',
      true,
      true,
      true,
    ]);
    return;
  }
  const error = (await asking.catch((caught: unknown) => caught)) as Error & { type: string };
  const words = outcome.at(-1) as RegExp;
  const refusal = refusalOfOneQuestion(error);
  if (outcome[0] === 'waits') {
    expect([error.type, refusal]).toEqual([outcome[1], null]);
    expect(error.message).toMatch(words);
  } else {
    expect(refusal?.reason).toMatch(words);
  }
});

describe('a prompt that an endpoint refuses or fails at, while it answers others,', () => {
  const isBad = (response: ServerResponse, body: string, status: number) =>
    void sendReply(response, { status, body: { error: { message: body } } });

  test.each([
    [400, 'invalid tool call in the prompt'],
    [422, 'not this'],
    [500, 'list index out of range'],
    [424, 'Request failed during generation'],
  ])('%i: is refused alone', async (status, words) => {
    let index = 0;
    const own = await startFakeAnalyst(({ body }) =>
      body.messages[0]!.content === 'which?' ? (response) => isBad(response, words, status) : { content: `${index++}` },
    );
    const options = { baseUrl: own.url, apiKey: 'key-1', model: 'm-1', concurrency: 4, maxReasks: 1 };
    const client = createAnalyst({ ...options, timeoutMs: 60_000, maxTries: 2, firstWaitMs: 1, longestWaitMs: 1 });
    const messages = [{ role: 'user' as const, content: 'which?' }];
    const error = await client.ask({ kind: 'label', key: 'k', messages, schema }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ type: 'Analyst.BadRequest' });
    expect(refusalOfOneQuestion(error)?.reason).toMatch(new RegExp(`${words} It answers other prompts`));
    expect(index).toBe(1);
    await own.close();
  });
});
