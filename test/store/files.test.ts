// tier: integration
import { execFileSync } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  createFile,
  LineFile,
  putLines,
  readIfExists,
  readWholeFile,
  RecentCache,
  replaceFile,
  StoreCorruptError,
  storedLines,
} from '../../store';
import { temporaryStore } from './temporary-store';

const { folder, store } = temporaryStore();
const schema = z.strictObject({ n: z.number() });

test('of several who create a file, one succeeds, and its content stays', async () => {
  const path = join(folder, 'created', 'one.json');
  const made = await Promise.all(['a', 'b', 'c'].map((text) => createFile(path, text)));
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(readFileSync(path, 'utf8')).toBe(['a', 'b', 'c'][made.indexOf(true)]);
  expect(readdirSync(join(folder, 'created'))).toEqual(['one.json']);
});

test('a replaced file has its new content, and no temporary file stays', async () => {
  const path = join(folder, 'replaced', 'one.txt');
  await replaceFile(path, 'old');
  await replaceFile(path, 'new');
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(readdirSync(join(folder, 'replaced'))).toEqual(['one.txt']);
});

test.each(['EINVAL', 'ENOTSUP', 'EIO'])('a folder whose entries cannot be flushed (%s)', async (code) => {
  const handle = await open(folder);
  await handle.close();
  const fault = Object.assign(new Error(code), { code });
  const flush = jest.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync').mockImplementation(async function (
    this: FileHandle,
  ) {
    if ((await this.stat()).isDirectory()) throw fault;
  });
  const path = join(folder, 'flushed', code);
  const written = replaceFile(path, 'x');
  await (code === 'EIO' ? expect(written).rejects.toThrow(code) : expect(written).resolves.toBeUndefined());
  flush.mockRestore();
});

test('a hidden file in a folder of folders is one without entries', async () => {
  const [path, key] = [join(folder, 'runs', '.DS_Store'), 'runs/.DS_Store'];
  await replaceFile(path, 'x');
  expect(await store.list(key)).toEqual([]);
});

test('a missing file is null, and a folder in its place is an error', async () => {
  expect(await readIfExists(join(folder, 'missing.txt'))).toBeNull();
  await expect(readIfExists(folder)).rejects.toMatchObject({ code: 'EISDIR', path: folder });
});

test('a file larger than any document is refused before it is read', async () => {
  const path = join(folder, 'large.json');
  writeFileSync(path, '');
  truncateSync(path, 3 * 2 ** 30);
  await expect(readIfExists(path)).rejects.toThrow(`${path} is larger than 268435456 bytes`);
  await expect(readWholeFile(path)).rejects.toBeInstanceOf(StoreCorruptError);
  truncateSync(path, 4);
  await expect(readWholeFile(path, 3)).rejects.toThrow('is larger than 3 bytes');
  expect(await readWholeFile(path, 4)).toEqual(Buffer.alloc(4));
});

test('files that say that they are empty are read up to the limit', async () => {
  expect((await readWholeFile('/proc/self/status')).toString('utf8')).toContain('Pid:');
  await expect(readWholeFile('/proc/self/status', 10)).rejects.toThrow('is larger than 10 bytes');
});

test.each([
  ['a pipe', (path: string) => void execFileSync('mkfifo', [path])],
  ['a device', (path: string) => symlinkSync('/dev/zero', path)],
])('an artifact or segment that became %s is neither waited for nor read', async (_, make) => {
  const ref = await putLines(store, 'odd', 'lines.jsonl', [{ n: 1 }]);
  const path = store.localPath(ref.key);
  rmSync(path);
  make(path);
  const refused = { type: 'Store.Corrupt', message: expect.stringContaining(`${path} is a pipe, a device`) as string };
  await expect(store.get(ref)).rejects.toMatchObject(refused);
  await expect(store.range(ref, { start: 0, end: 3, sha256: '' })).rejects.toMatchObject(refused);
  const read = async (lines: AsyncIterable<unknown>) => {
    for await (const line of lines) expect(line).toBeUndefined();
  };
  await expect(read(store.lines(ref))).rejects.toMatchObject(refused);
  await expect(read(store.segment(ref.key).read(schema))).rejects.toMatchObject(refused);
  rmSync(path);
});

test('a line file gives its lines one by one', () => {
  const file = new LineFile(Buffer.from('{"n":1}\n{"n":2}\n{"n":3}'), schema);
  expect(file).toHaveLength(3);
  expect([file.at(2), file.at(0)]).toEqual([{ n: 3 }, { n: 1 }]);
});

test('a line outside of a line file, and one that its schema refuses, are errors', () => {
  const file = new LineFile(Buffer.from('{"n":"one"}\n'), schema);
  expect(() => file.at(1)).toThrow(RangeError);
  expect(() => file.at(0)).toThrow(z.ZodError);
});

test('stored lines are read from the store each time: in order, one by one, and never when they are damaged', async () => {
  const ref = await putLines(store, 'stored', 'a.jsonl', [{ n: 1 }, { n: 2 }, { n: 3 }]);
  const lines = await storedLines(store, schema)(ref);
  const all: number[] = [];
  for await (const { n } of lines) all.push(n);
  expect(all).toEqual([1, 2, 3]);
  expect([await lines.at(2), await lines.at(0)]).toEqual([{ n: 3 }, { n: 1 }]);
  await expect(lines.at(3)).rejects.toThrow(RangeError);
  writeFileSync(store.localPath(ref.key), readFileSync(store.localPath(ref.key), 'utf8').replace('2', '7'));
  expect(await lines.at(0)).toEqual({ n: 1 });
  await expect(lines.at(1)).rejects.toBeInstanceOf(StoreCorruptError);
});

test('a recent cache forgets the key used longest ago, and what failed to load', async () => {
  const cache = new RecentCache<string>(2);
  const loaded: string[] = [];
  const get = (key: string) => cache.get(key, async () => (loaded.push(key), key));
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await get(key);
  expect(loaded).toEqual(['a', 'b', 'c', 'b']);
  await expect(cache.get('d', () => Promise.reject(new Error('unreadable')))).rejects.toThrow('unreadable');
  expect(await cache.get('d', async () => 'read')).toBe('read');
});
