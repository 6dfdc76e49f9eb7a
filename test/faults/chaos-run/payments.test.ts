// tier: unit
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countPayments, type Excuses } from './payments';

const folder = mkdtempSync(join(tmpdir(), 'chaos-payments-'));
const door = join(folder, 'door.jsonl');
const segment = join(folder, 'store', 'labels-cache', 'agent', 'chunk.run.jsonl');
mkdirSync(join(segment, '..'), { recursive: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Calls of one key: when each was asked, and when its answer was delivered; null: it never was. */
function count(
  calls: readonly (readonly [asked: number, delivered: number | null])[],
  stored: number,
  excuses: Partial<Excuses>,
) {
  const lines = calls.flatMap(([asked, delivered], call) => [
    { event: 'asked', call: String(call), at: asked, key: 'k' },
    ...(delivered === null
      ? []
      : [{ event: 'ended', call: String(call), at: delivered, delivered: true, status: 200 }]),
  ]);
  writeFileSync(door, lines.map((line) => `${JSON.stringify(line)}\n`).join('') + '{"event":"ask');
  writeFileSync(segment, `${JSON.stringify({ label: {}, call: { key: 'k' } })}\n`.repeat(stored));
  return countPayments(door, folder, { deaths: [], full: [], destroyed: [], ...excuses }, new Set(['k', 'only calm']));
}

test('a call whose answer was under way when its caller died is not paid twice', () => {
  expect(
    count(
      [
        [0, null],
        [5_000, 5_100],
      ],
      1,
      {},
    ),
  ).toMatchObject({ inFlight: 1, paidTwice: [] });
  expect(
    count(
      [
        [0, 900],
        [5_000, 5_100],
      ],
      1,
      { deaths: [1_000] },
    ),
  ).toMatchObject({ inFlight: 1, paidTwice: [] });
});

test('a call is paid twice when its caller had the answer and lived, or had it for long', () => {
  expect(
    count(
      [
        [0, 900],
        [5_000, 5_100],
      ],
      1,
      {},
    ),
  ).toMatchObject({ inFlight: 0, paidTwice: [expect.any(String)] });
  expect(
    count(
      [
        [0, 100],
        [5_000, 5_100],
      ],
      1,
      { deaths: [4_000] },
    ).paidTwice,
  ).toHaveLength(1);
  expect(
    count(
      [
        [0, 900],
        [5_000, 5_100],
      ],
      2,
      { deaths: [1_000] },
    ).paidTwice,
  ).toHaveLength(1);
});

test('an answer that a full disk did not take is counted by itself', () => {
  expect(
    count(
      [
        [0, 900],
        [5_000, 5_100],
      ],
      1,
      { full: [{ from: 500, to: 2_000 }] },
    ),
  ).toMatchObject({
    ...{ diskFull: 1, inFlight: 0, paidTwice: [], calls: 2, questions: 1, more: 0, fewer: 1 },
  });
});

test('an answer that a fault destroyed is asked again once, and no other one', () => {
  const twice = [
    [0, 900],
    [5_000, 5_100],
  ] as const;
  const at = 4_000;
  expect(count(twice, 1, { deaths: [at], destroyed: [{ key: 'k', at }] })).toMatchObject({
    destroyed: 1,
    paidTwice: [],
  });
  expect(count(twice, 1, { deaths: [at], destroyed: [{ key: 'other', at }] }).paidTwice).toHaveLength(1);
  expect(count([...twice, [9_000, 9_100]], 1, { deaths: [at], destroyed: [{ key: 'k', at }] })).toMatchObject({
    ...{ destroyed: 1, paidTwice: [expect.any(String)] },
  });
});

test('what two runs ask for themselves is counted by itself, and what one of them stores twice is paid twice', () => {
  const twice = [
    [0, 900],
    [5_000, 5_100],
  ] as const;
  const work = (run: string) => join(folder, 'store', 'runs', run, 'work', 'analyst-discover.jsonl');
  for (const run of ['a', 'b']) mkdirSync(join(work(run), '..'), { recursive: true });
  for (const run of ['a', 'b']) writeFileSync(work(run), '{"key":"k"}\n');
  expect(count(twice, 0, {})).toMatchObject({ otherRun: 1, paidTwice: [] });
  writeFileSync(work('b'), '{"key":"k"}\n{"key":"k"}\n');
  expect(count(twice, 0, {})).toMatchObject({ otherRun: 0, paidTwice: [expect.stringContaining('stored twice')] });
  rmSync(join(folder, 'store', 'runs'), { recursive: true });
});
