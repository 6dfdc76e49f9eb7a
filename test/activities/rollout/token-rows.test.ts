// Tier: unit.
import { TokenRows } from '../../../activities/rollout/token-rows';
import type { ChatAnswer } from '../../../activities/rollout/model-client';

const sampled = (prompt: number[], answer: number[]) => ({ prompt, answer, logprobs: answer.map((id) => -id / 4) });

const idsOf = (text: string) => [...new Int32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer)];
const numbersOf = (text: string) => [...new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer)];

const rowsOf = (rows: TokenRows) =>
  rows.kept.rows.map(({ ids, sampled: places, logprobs }) => ({
    ids: idsOf(ids),
    places,
    logprobs: numbersOf(logprobs),
  }));

test('a prompt that extends the last prompt and its answer goes on in its row', () => {
  const rows = new TokenRows();
  rows.add(sampled([1, 2], [3, 4]));
  rows.add(sampled([1, 2, 3, 4, 9], [5]));
  expect(rows.kept).toMatchObject({ turns: 2, missing: 0 });
  expect(rowsOf(rows)).toEqual([
    {
      ids: [1, 2, 3, 4, 9, 5],
      places: [
        [2, 2],
        [5, 1],
      ],
      logprobs: [-0.75, -1, -1.25],
    },
  ]);
});

test('what begins otherwise, even in the answer alone, is a row of its own', () => {
  const rows = new TokenRows();
  rows.add(sampled([1, 2], [3, 4]));
  // The same text, in other tokens.
  rows.add(sampled([1, 2, 34, 9], [5]));
  // A retry without the answer, a sub-agent, and the first row again.
  rows.add(sampled([1, 2], [6]));
  rows.add(sampled([7], [8]));
  rows.add(sampled([1, 2, 3, 4], [5]));
  expect(rowsOf(rows).map(({ ids }) => ids)).toEqual([
    [1, 2, 3, 4, 5],
    [1, 2, 34, 9, 5],
    [1, 2, 6],
    [7, 8],
  ]);
});

test('of two that go on from the same answer, one is joined; the other has the earlier answer in its prompt', () => {
  const rows = new TokenRows();
  rows.add(sampled([1], [2]));
  rows.add(sampled([1, 2, 3], [4]));
  rows.add(sampled([1, 2, 5], [6]));
  // No token is trained on twice.
  expect(rowsOf(rows).map(({ places }) => places)).toEqual([
    [
      [1, 1],
      [3, 1],
    ],
    [[3, 1]],
  ]);
  // The longest row that fits goes on.
  rows.add(sampled([1, 2, 3, 4, 7], [8]));
  expect(rowsOf(rows)[0]!.ids).toEqual([1, 2, 3, 4, 7, 8]);
});

test('an episode that lacks the tokens of one answer, or has too many, keeps none', () => {
  const rows = new TokenRows();
  rows.add(sampled([1], [2]));
  rows.add(null);
  expect(rows.kept).toEqual({ turns: 2, missing: 1, rows: [] });
  const long = new TokenRows();
  const prompt = Array<number>(600_000).fill(7);
  long.add(sampled(prompt, [1]));
  long.add(sampled([...prompt, 1, 5], [2]));
  expect(long.kept.missing).toBe(0);
  long.add(sampled([...prompt, 2], [2]));
  expect(long.kept).toEqual({ turns: 3, missing: 1, rows: [] });
});

test('answers of a model are recorded, and the model is asked for tokens only where it gives them', async () => {
  const asked: unknown[] = [];
  const chat = async (request: object): Promise<ChatAnswer> => {
    asked.push(request);
    const tokens = 'tokens' in request ? { tokens: sampled([1], [2]) } : {};
    return { content: 'x', toolCalls: [], ...tokens } as unknown as ChatAnswer;
  };
  for (const [asks, missing] of [
    [true, 0],
    [false, 1],
  ] as const) {
    const rows = new TokenRows();
    await rows.recording(chat, asks)({ model: 'm', messages: [], temperature: 1, seed: 1, maxTokens: 1 });
    expect(rows.kept).toMatchObject({ turns: 1, missing });
  }
  expect(asked).toEqual([expect.objectContaining({ tokens: true }), expect.not.objectContaining({ tokens: true })]);
});
