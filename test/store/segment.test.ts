// tier: integration
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, openSync, readFileSync, rmSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readSegment, type Segment } from '../../store';
import { temporaryStore } from './temporary-store';

const { folder, store } = temporaryStore();
const text = (key: string) => readFileSync(join(folder, key), 'utf8');
const numbered = z.strictObject({ n: z.number() });
const valuesOf = async (segment: Segment) => (await readSegment(segment, z.unknown())).values;

test('a segment that nobody has written is empty', async () => {
  expect(await valuesOf(store.segment('none.jsonl'))).toEqual([]);
});

test('records come back in the order in which they were appended', async () => {
  const segment = store.segment('runs/r1/work/order.jsonl');
  await Promise.all(Array.from({ length: 50 }, (_, n) => segment.append({ n })));
  expect(await valuesOf(segment)).toEqual(Array.from({ length: 50 }, (_, n) => ({ n })));
  await segment.close();
});

test('a record is in the file as soon as its append has resolved', async () => {
  const segment = store.segment('durable.jsonl');
  await segment.append({ n: 1 });
  expect(text('durable.jsonl')).toBe('{"n":1}\n');
  await segment.close();
});

test('another writer goes on where the first one stopped', async () => {
  for (const n of [1, 2]) {
    const segment = store.segment('resumed.jsonl');
    await segment.append(n);
    await segment.close();
  }
  expect(await valuesOf(store.segment('resumed.jsonl'))).toEqual([1, 2]);
});

test('a torn last line is left out by readers and cut off by the next append', async () => {
  appendFileSync(join(folder, 'torn.jsonl'), '{"n":1}\n{"n":2');
  const segment = store.segment('torn.jsonl');
  const { values, damaged } = await readSegment(segment, numbered);
  expect([values, damaged.count]).toEqual([[{ n: 1 }], 0]);
  expect(text('torn.jsonl')).toBe('{"n":1}\n{"n":2');
  await segment.append({ n: 3 });
  await segment.close();
  expect(text('torn.jsonl')).toBe('{"n":1}\n{"n":3}\n');
});

test.each([
  ['short', 3],
  ['longer than a block of the backward search', 200_000],
])('a file of nothing but a torn line, %s, starts anew', async (_, length) => {
  const key = `only-torn-${length}.jsonl`;
  appendFileSync(join(folder, key), 'x'.repeat(length));
  const segment = store.segment(key);
  expect(await valuesOf(segment)).toEqual([]);
  await segment.append(1);
  await segment.close();
  expect(text(key)).toBe('1\n');
});

test('a torn line of more than a block is cut off behind the last whole line', async () => {
  appendFileSync(join(folder, 'long-torn.jsonl'), `${'1'.repeat(100)}\n${'x'.repeat(150_000)}`);
  const segment = store.segment('long-torn.jsonl');
  await segment.append(2);
  await segment.close();
  expect(text('long-torn.jsonl')).toBe(`${'1'.repeat(100)}\n2\n`);
});

test('lines that cannot be read are set aside with their place, and the others are returned', async () => {
  const lines = ['{"n":1}', '{"n":', '{"n":2}', '{"n":"two"}', '', '{"n":3}', '{"n":4}{"n":5}', '\0\0\0'];
  appendFileSync(join(folder, 'broken.jsonl'), `${lines.join('\n')}\n`);
  appendFileSync(join(folder, 'broken.jsonl'), Buffer.from([0x22, 0xff, 0x22, 0x0a]));
  const { values, damaged } = await readSegment(store.segment('broken.jsonl'), numbered);
  expect(values).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect(damaged.count).toBe(5);
  expect(damaged.first).toMatchObject([
    { line: 2, start: 8, end: 14, reason: 'is not JSON' },
    { line: 4, start: 22, end: 34, reason: expect.stringContaining('does not have its form (n: ') as string },
    { line: 7, reason: 'is not JSON' },
    { line: 8, reason: 'is not JSON' },
    { line: 9, reason: 'is not UTF-8 text' },
  ]);
  expect(damaged.describe()).toMatch(
    /^5 lines were left out of broken\.jsonl: line 2 \(bytes 8 to 14\) is not JSON; line 4 .*; and 2 more\.$/,
  );
});

test('a later reading goes on behind the last complete line of the one before', async () => {
  const path = join(folder, 'followed.jsonl');
  appendFileSync(path, '{"n":1}\nnot JSON\n{"n":2');
  const reading = store.segment('followed.jsonl').read(numbered);
  const first: unknown[] = [];
  for await (const line of reading) first.push(line);
  expect([first, reading.end]).toEqual([[{ value: { n: 1 }, start: 0, end: 8 }], 17]);
  appendFileSync(path, '2}\n');
  const rest: unknown[] = [];
  for await (const line of store.segment('followed.jsonl').read(numbered, reading.end)) rest.push(line);
  expect(rest).toEqual([{ value: { n: 22 }, start: 17, end: 26 }]);
});

test('a file of 600 MB, more than a string can hold, is read line by line', async () => {
  const path = join(folder, 'large.jsonl');
  // A sparse file: between its first and its last line lies one line of zeros, longer than any line may be.
  const file = openSync(path, 'w');
  writeSync(file, '{"n":1}\n', 0);
  writeSync(file, '\n{"n":2}\n', 600_000_000);
  closeSync(file);
  const { values, damaged } = await readSegment(store.segment('large.jsonl'), numbered);
  expect(values).toEqual([{ n: 1 }, { n: 2 }]);
  expect(damaged.first).toEqual([{ line: 2, start: 8, end: 600_000_001, reason: 'is longer than 64 MiB' }]);
  rmSync(path);
});

test('a line that no reader would take is refused, and those after it are written', async () => {
  const segment = store.segment('too-long.jsonl');
  await expect(segment.append('x'.repeat(64 << 20))).rejects.toThrow(/too long for too-long\.jsonl: 64 MiB/);
  await segment.append(1);
  await segment.close();
  expect(text('too-long.jsonl')).toBe('1\n');
});

test('a closed segment can be appended to again', async () => {
  const segment = store.segment('reopened.jsonl');
  await segment.append(1);
  await segment.close();
  await segment.append(2);
  await segment.close();
  expect(await valuesOf(segment)).toEqual([1, 2]);
});

test('half a line that a full disk left is taken back, and the next line is not glued to it', () => {
  const hook = join(__dirname, '..', 'run-typescript.js');
  const script = join(__dirname, 'full-disk-writer.ts');
  const output = execFileSync(process.execPath, ['-r', hook, script, folder, 'full.jsonl'], { encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual({
    refused: 'EFBIG',
    afterRefusal: '{"n":1}\n',
    text: '{"n":1}\n{"n":2}\n',
  });
});

test('a segment that could not be opened once is opened by the next append', async () => {
  mkdirSync(join(folder, 'blocked.jsonl'));
  const segment = store.segment('blocked.jsonl');
  await expect(segment.append(1)).rejects.toMatchObject({ code: 'EISDIR' });
  rmSync(join(folder, 'blocked.jsonl'), { recursive: true });
  await segment.append(2);
  await segment.close();
  expect(text('blocked.jsonl')).toBe('2\n');
});
