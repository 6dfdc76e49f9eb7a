// tier: integration
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalStore, StoreConflictError } from '../../store';
import { changeDocument } from '../../store/change-document';
import { temporaryStore } from './temporary-store';

const { folder, store } = temporaryStore();
/** The same folder as another process would open it. */
const other = new LocalStore(folder);

test('a document that is not there is null, and is made by a swap that expects none', async () => {
  expect(await store.readDocument('a.json')).toBeNull();
  const etag = await store.swapDocument('a.json', { n: 1 }, null);
  expect(await other.readDocument('a.json')).toEqual({ value: { n: 1 }, etag });
  expect(readFileSync(join(folder, 'a.json'), 'utf8')).toBe('{\n  "n": 1\n}\n');
});

test('a swap with the current etag replaces the document and returns the next etag', async () => {
  const first = await store.swapDocument('b.json', 1, null);
  const second = await store.swapDocument('b.json', 2, first);
  expect(await store.readDocument('b.json')).toEqual({ value: 2, etag: second });
});

test('a swap with an old etag is a conflict, and changes nothing', async () => {
  const first = await store.swapDocument('c.json', 1, null);
  await store.swapDocument('c.json', 2, first);
  for (const expected of [first, null]) {
    const error = await store.swapDocument('c.json', 3, expected).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StoreConflictError);
    expect(error).toMatchObject({ type: 'Promote.Conflict', message: expect.stringContaining('c.json') as string });
  }
  expect((await store.readDocument('c.json'))?.value).toBe(2);
});

test('of two writers that swap the same document at once, one wins and the other sees a conflict', async () => {
  const etag = await store.swapDocument('d.json', 'start', null);
  const outcomes = await Promise.allSettled([
    store.swapDocument('d.json', 'one', etag),
    other.swapDocument('d.json', 'two', etag),
  ]);
  const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
  expect(outcomes[1 - winner]).toMatchObject({ status: 'rejected', reason: { type: 'Promote.Conflict' } });
  expect((await store.readDocument('d.json'))?.value).toBe(['one', 'two'][winner]);
});

test('writers that repeat their change after a conflict lose no update', async () => {
  const add = (writer: LocalStore) =>
    changeDocument(writer, 'count.json', (before) => {
      const value = ((before as number | undefined) ?? 0) + 1;
      return { value, result: value };
    });
  const results = await Promise.all([store, other, new LocalStore(folder), new LocalStore(folder)].map(add));
  expect((await store.readDocument('count.json'))?.value).toBe(4);
  expect(results.sort()).toEqual([1, 2, 3, 4]);
});

test('a change without a value writes nothing', async () => {
  expect(await changeDocument(store, 'untouched.json', (before) => ({ result: before }))).toBeUndefined();
  expect(existsSync(join(folder, 'untouched.json'))).toBe(false);
});

test('a change that loses eight times gives up with the conflict', async () => {
  const contested = Object.create(store) as LocalStore;
  let swaps = 0;
  contested.swapDocument = () => Promise.reject(new StoreConflictError(`lost ${++swaps}`));
  await expect(changeDocument(contested, 'e.json', () => ({ value: 1, result: 1 }))).rejects.toThrow('lost 8');
});

test('an error of the change itself is passed on and leaves no lock behind', async () => {
  const broken = changeDocument(store, 'f.json', () => {
    throw new RangeError('no such version');
  });
  await expect(broken).rejects.toThrow(RangeError);
  await store.swapDocument('f.json', 1, null);
  expect(readdirSync(folder).filter((name) => /\.(lock|tmp)/.test(name))).toEqual([]);
});

test('the lock of a process that died is taken over after ten seconds', async () => {
  const lock = join(folder, 'g.json.lock');
  writeFileSync(lock, '');
  const old = Date.now() / 1000 - 11;
  utimesSync(lock, old, old);
  await store.swapDocument('g.json', 1, null);
  expect(existsSync(lock)).toBe(false);
});
