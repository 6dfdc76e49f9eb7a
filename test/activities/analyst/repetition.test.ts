// unit: a repeated activity takes recorded answers and asks for no new one unless it may.
import { z } from 'zod';
import { RecordedCalls } from '../../../activities/analyst/recorded-calls';
import type { Analyst } from '../../../llm';
import { temporaryStore } from '../../store/temporary-store';

const { store } = temporaryStore();
const request = (key: string) =>
  ({ kind: 'discover', key, messages: [], schema: z.string(), signal: undefined }) as never;
let asked = 0;
const analyst = {
  model: 'm',
  ask: async () => {
    asked++;
    return { value: 'yes', usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 }, asks: 1, model: 'm' };
  },
} as unknown as Analyst;

test('an answer that is not recorded is only asked for with leave', async () => {
  const first = await RecordedCalls.open(store, 'run-1', 'work');
  await first.ask(analyst, request('a'));
  await first.close();
  const forbidden = await RecordedCalls.open(store, 'run-1', 'work', { scheduledAtMs: 0, mayAskAnalyst: false });
  expect((await forbidden.ask(analyst, request('a'))).value).toBe('yes');
  await expect(forbidden.ask(analyst, request('b'))).rejects.toMatchObject({
    type: 'Analyst.NotRecorded',
    nonRetryable: true,
  });
  expect(asked).toBe(1);
  await forbidden.close();
  const allowed = await RecordedCalls.open(store, 'run-1', 'work', { scheduledAtMs: 0, mayAskAnalyst: true });
  await allowed.ask(analyst, request('b'));
  await allowed.close();
  expect(asked).toBe(2);
});
