// unit: a repeated activity takes recorded answers and asks for no new one unless it may.
import { z } from 'zod';
import { OneAttempt } from '../../../activities/analyst/one-attempt';
import { RecordedCalls } from '../../../activities/analyst/recorded-calls';
import type { Repetition } from '../../../contracts/messages/repair';
import type { Analyst, AnalystRequest } from '../../../llm';
import { temporaryStore } from '../../store/temporary-store';

const { store } = temporaryStore();
const request = (key: string) =>
  ({ kind: 'discover', key, messages: [], schema: z.string(), signal: undefined }) as never;
let asked = 0;
const analyst = {
  model: 'm',
  flushUsage: () => Promise.resolve(),
  ask: async ({ keep }: AnalystRequest<string>) => {
    asked++;
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    const answer = { value: 'yes', usage, asks: 1, tries: 1, redacted: {}, model: 'm' };
    await keep?.(answer);
    return answer;
  },
} as unknown as Analyst;
const open = (repetition?: Repetition) => {
  const { signal } = new AbortController();
  return RecordedCalls.open(store, 'run-1', 'work', {
    analyst,
    attempts: new OneAttempt(),
    signal,
    setNote: () => undefined,
    repetition,
  });
};

test('an answer that is not recorded is only asked for with leave', async () => {
  const first = await open();
  await first.ask(request('a'));
  await first[Symbol.asyncDispose]();
  const forbidden = await open({ scheduledAtMs: 0, mayAskAnalyst: false });
  expect((await forbidden.ask(request('a'))).value).toBe('yes');
  await expect(forbidden.ask(request('b'))).rejects.toMatchObject({
    type: 'Analyst.NotRecorded',
    nonRetryable: true,
  });
  expect(asked).toBe(1);
  await forbidden[Symbol.asyncDispose]();
  const allowed = await open({ scheduledAtMs: 0, mayAskAnalyst: true });
  await allowed.ask(request('b'));
  await allowed[Symbol.asyncDispose]();
  expect(asked).toBe(2);
});
