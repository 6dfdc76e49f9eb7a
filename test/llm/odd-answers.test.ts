// tier: integration
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { createAnalyst, refusalOfOneQuestion } from '../../llm';
import type { Refusal } from '../../llm/analyst';
import { type ChangeRateState, inProcessRateState } from '../../llm/rate/rate-state';
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

  /** Asks an endpoint that answers other prompts so, and counts what was taken from the rate, sent, paid and lost. */
  async function askBad(status: number, words: string, other: FakeAnalystAnswer, takesLimit = true) {
    const own = await startFakeAnalyst(({ body }) => {
      if (body.messages[0]!.content === 'which?') return (response) => isBad(response, words, status);
      if (takesLimit || body.max_completion_tokens === undefined) return other;
      return (response) => isBad(response, 'Extra inputs are not permitted: max_completion_tokens', 422);
    });
    const change = inProcessRateState();
    let taken = 0;
    const changeRateState: ChangeRateState = (by) =>
      change((before) => {
        const made = by(before);
        taken += (made.result as { requests: number }).requests;
        return made;
      });
    const options = { baseUrl: own.url, apiKey: 'key-1', model: 'm-1', concurrency: 4, maxReasks: 1, maxTries: 2 };
    const fast = { timeoutMs: 60_000, firstWaitMs: 1, longestWaitMs: 1, requestsPerMinute: 60_000, changeRateState };
    const client = createAnalyst({ ...options, ...fast });
    const messages = [{ role: 'user' as const, content: 'which?' }];
    let kept: Refusal | null = null;
    let lost = 0;
    const error = await client
      .ask({
        ...{ kind: 'label', key: 'k', messages, schema },
        keepRefusal: (refusal) => Promise.resolve(void (kept = refusal)),
        onLost: () => lost++,
      })
      .catch((caught: unknown) => caught);
    await own.close();
    const others = own.requests.filter(({ body }) => body.messages[0]!.content !== 'which?');
    return { error, kept: kept as Refusal | null, lost, taken, sent: own.requests.length, others };
  }

  test.each([
    [400, 'invalid tool call in the prompt'],
    [422, 'not this'],
    [500, 'list index out of range'],
    [424, 'Request failed during generation'],
  ])('%i: is refused alone, and the other prompt has its place in the rate and is paid', async (status, words) => {
    const usage = { prompt: 12, completion: 3, cached: 2 };
    const { error, kept, taken, sent, others } = await askBad(status, words, { content: '0', usage });
    expect(error).toMatchObject({ type: 'Analyst.BadRequest' });
    expect(refusalOfOneQuestion(error)?.reason).toMatch(new RegExp(`${words} It answers other prompts`));
    expect(kept?.usage).toEqual({ promptTokens: 12, completionTokens: 3, cachedTokens: 2 });
    expect(others.map(({ body }) => body.max_completion_tokens)).toEqual([1_000]);
    expect(taken).toBe(sent);
  });

  test('is refused alone too, where the endpoint knows no limit of tokens', async () => {
    const usage = { prompt: 12, completion: 3, cached: 2 };
    const { error, kept, taken, sent, others } = await askBad(400, 'not this', { content: '0', usage }, false);
    expect(refusalOfOneQuestion(error)?.reason).toMatch(/not this It answers other prompts/);
    expect(kept?.usage).toEqual({ promptTokens: 12, completionTokens: 3, cachedTokens: 2 });
    expect(others.map(({ body }) => body.max_completion_tokens)).toEqual([1_000, undefined]);
    expect(new Set(others.map(({ headers }) => headers['idempotency-key'])).size).toBe(2);
    expect(taken).toBe(sent);
  });

  test("is the endpoint's own, where the answer to the other prompt is lost", async () => {
    const { error, kept, lost } = await askBad(400, 'not this', { status: 504 });
    expect(error).toMatchObject({
      type: 'Analyst.BadRequest',
      message: expect.not.stringMatching(/other prompts/) as string,
    });
    expect([kept, lost]).toEqual([null, 1]);
  });
});
