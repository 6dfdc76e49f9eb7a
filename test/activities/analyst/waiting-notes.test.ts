// Tier: unit.
import { z } from 'zod';
import { waitingNote, withWaitingNotes } from '../../../activities/analyst/waiting-notes';
import type { Analyst, AnalystAnswer, AnalystRequest } from '../../../llm';

const call = (sinceMs: number, more: object = {}) => ({
  ...{ sinceMs, sentMs: sinceMs, tries: 1, lost: 0, timeoutMs: 600_000 },
  ...more,
});

test('nothing is said while answers come within seconds', () => {
  expect(waitingNote([], 0)).toBeUndefined();
  expect(waitingNote([call(0), call(5_000)], 19_000)).toBeUndefined();
});

test('the longest wait is said, with when the question is sent again', () => {
  expect(waitingNote([call(0)], 125_000)).toBe(
    "has waited 2 min 5 s for the analyst's answer; is sent again in 7 min 55 s",
  );
  const lost = call(1_000, { sentMs: 601_000, tries: 2, lost: 1, timeoutMs: 1_200_000 });
  expect(waitingNote([call(650_000), lost], 661_000)).toBe(
    "has waited 11 min 0 s for the analyst's answer, the longest of 2 questions; " +
      'sent 2 times, 1 without an answer in time; is sent again in 19 min 0 s',
  );
});

describe('a wrapped analyst', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test('shows the wait until the answer comes', async () => {
    const notes: (string | undefined)[] = [];
    let asked: AnalystRequest<unknown> | undefined;
    let answer = (_: AnalystAnswer<unknown>): void => undefined;
    const slow: Analyst = {
      ...{ model: 'm', askBatch: () => Promise.reject(new Error('no batch')), flushUsage: () => Promise.resolve() },
      ask: <T>(request: AnalystRequest<T>) => {
        asked = request as AnalystRequest<unknown>;
        return new Promise<AnalystAnswer<T>>((resolve) => (answer = resolve as typeof answer));
      },
    };
    const pending = withWaitingNotes(slow, (note) => notes.push(note)).ask({
      ...{ kind: 'synthesise', key: 'k', messages: [], schema: z.unknown() },
    });
    asked!.onSent!({ tries: 1, timeoutMs: 60_000 });
    jest.advanceTimersByTime(10_000);
    expect(notes).toEqual([]);
    jest.advanceTimersByTime(50_000);
    asked!.onLost!({ promptTokens: 9 });
    asked!.onSent!({ tries: 2, timeoutMs: 120_000 });
    jest.advanceTimersByTime(2_000);
    expect(notes.at(-1)).toMatch(/^has waited 1 min 2 s .*; sent 2 times, 1 without an answer in time; .* 1 min 58 s$/);
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    answer({ ...{ value: 1, usage, asks: 1, tries: 2, redacted: {}, model: 'm' } });
    await pending;
    expect(notes.at(-1)).toBeUndefined();
    expect(jest.getTimerCount()).toBe(0);
  });
});
