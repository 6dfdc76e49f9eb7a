// tier: integration
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryStore } from './temporary-store';

const { folder, store } = temporaryStore();
const text = (key: string) => readFileSync(join(folder, key), 'utf8');

test('a segment that nobody has written is empty', async () => {
  expect(await store.segment('none.jsonl').read()).toEqual([]);
});

test('records come back in the order in which they were appended', async () => {
  const segment = store.segment('runs/r1/work/order.jsonl');
  await Promise.all(Array.from({ length: 50 }, (_, n) => segment.append({ n })));
  expect(await segment.read()).toEqual(Array.from({ length: 50 }, (_, n) => ({ n })));
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
  expect(await store.segment('resumed.jsonl').read()).toEqual([1, 2]);
});

test('a torn last line is left out by readers and cut off by the next append', async () => {
  appendFileSync(join(folder, 'torn.jsonl'), '{"n":1}\n{"n":2');
  const segment = store.segment('torn.jsonl');
  expect(await segment.read()).toEqual([{ n: 1 }]);
  expect(text('torn.jsonl')).toBe('{"n":1}\n{"n":2');
  await segment.append({ n: 3 });
  await segment.close();
  expect(text('torn.jsonl')).toBe('{"n":1}\n{"n":3}\n');
});

test('a file of nothing but a torn line starts anew', async () => {
  appendFileSync(join(folder, 'only-torn.jsonl'), '{"n"');
  const segment = store.segment('only-torn.jsonl');
  expect(await segment.read()).toEqual([]);
  await segment.append(1);
  await segment.close();
  expect(text('only-torn.jsonl')).toBe('1\n');
});

test('a complete line that is not JSON makes reading fail', async () => {
  appendFileSync(join(folder, 'broken.jsonl'), '{"n":1}\nnot JSON\n');
  await expect(store.segment('broken.jsonl').read()).rejects.toThrow(SyntaxError);
});

test('a closed segment can be appended to again', async () => {
  const segment = store.segment('reopened.jsonl');
  await segment.append(1);
  await segment.close();
  await segment.append(2);
  await segment.close();
  expect(await segment.read()).toEqual([1, 2]);
});
