// tier: integration
/** What the artifacts of a local store do on disk. What all stores do is in conformance.ts. */
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { StoreCorruptError } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import { temporaryStore } from './temporary-store';

const { folder, store } = temporaryStore();
const damage = (key: string, text: string) => writeFileSync(join(folder, key), text);

test('the media type follows from the extension', async () => {
  const types = ['a.json', 'a.jsonl', 'a.html', 'a.py', 'a.svg', 'a'].map((name) => store.put('types', name, name));
  expect((await Promise.all(types)).map(({ mediaType }) => mediaType)).toEqual([
    'application/json',
    'application/jsonl',
    'text/html',
    'text/x-python',
    'image/svg+xml',
    'application/octet-stream',
  ]);
});

test('the same content written again is the same artifact, and its file is left alone', async () => {
  const first = await store.put('again', 'a.txt', 'same');
  const { ino } = statSync(join(folder, first.key));
  expect(await store.put('again', 'a.txt', 'same')).toEqual(first);
  expect(statSync(join(folder, first.key)).ino).toBe(ino);
  expect(readdirSync(join(folder, 'again'))).toHaveLength(1);
});

test('two writers of the same content leave one whole file', async () => {
  const text = 'x'.repeat(1 << 20);
  const refs = await Promise.all(Array.from({ length: 8 }, () => store.put('twins', 'big.txt', text)));
  expect(new Set(refs.map(({ key }) => key)).size).toBe(1);
  expect(readdirSync(join(folder, 'twins'))).toHaveLength(1);
  expect((await store.get(refs[0]!)).length).toBe(1 << 20);
});

test('a damaged artifact is Store.Corrupt, and the message names its file', async () => {
  const ref = await store.put('damaged', 'a.json', '{"a":1}');
  damage(ref.key, '{"a":2}');
  // One after the other: a promise that rejects before anybody awaits it ends the test.
  for (const read of [() => store.get(ref), () => store.getNamed(ref.key), () => collect(store.lines(ref))]) {
    const error = await read().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StoreCorruptError);
    expect(error).toMatchObject({ type: 'Store.Corrupt', message: expect.stringContaining(ref.key) as string });
  }
});

test('writing a damaged artifact again restores it', async () => {
  const ref = await store.put('restored', 'a.txt', 'good');
  damage(ref.key, 'bad');
  await store.put('restored', 'a.txt', 'good');
  expect((await store.get(ref)).toString()).toBe('good');
});

test('a name without a hash cannot be checked, and is Store.Corrupt', async () => {
  damage('plain.txt', 'text');
  await expect(store.getNamed('plain.txt')).rejects.toMatchObject({ type: 'Store.Corrupt' });
});

test('a directory is moved into the store once, and replaces one that was changed there', async () => {
  const source = (name: string) => {
    mkdirSync(join(folder, 'outside', name), { recursive: true });
    damage(`outside/${name}/weights.json`, '"w"');
    return join(folder, 'outside', name);
  };
  const hash = await modelDirectorySha256(source('a'));
  const key = await store.adoptDirectory('adapters/desk', 'refund', hash, source('a'));
  expect(key).toBe(`adapters/desk/refund-${hash.slice(0, 12)}`);
  expect(await store.list(key)).toEqual(['weights.json']);
  expect(await store.adoptDirectory('adapters/desk', 'refund', hash, source('b'))).toBe(key);
  expect(await store.list('adapters/desk')).toHaveLength(1);
  damage(`${key}/weights.json`, '"W"');
  expect(await store.adoptDirectory('adapters/desk', 'refund', hash, source('b'))).toBe(key);
  expect(await modelDirectorySha256(store.localPath(key))).toBe(hash);
});

test('a directory on another disk is copied into the store, and its files are on the disk first', async () => {
  const source = mkdtempSync('/dev/shm/adapter-');
  writeFileSync(join(source, 'weights.json'), '"far"');
  mkdirSync(join(source, 'more'));
  writeFileSync(join(source, 'more', 'a.json'), '1');
  expect(statSync(source).dev).not.toBe(statSync(folder).dev);
  const hash = await modelDirectorySha256(source);
  const synced = await syncedPaths();
  const key = await store.adoptDirectory('adapters/far', 'refund', hash, source);
  jest.restoreAllMocks();
  rmSync(source, { recursive: true });
  for (const name of ['', '/more', '/more/a.json', '/weights.json'])
    expect(synced).toContainEqual(expect.stringMatching(new RegExp(`/adapters/far/[^/]+\\.tmp${name}$`)));
  expect(await modelDirectorySha256(store.localPath(key))).toBe(hash);
  expect(readdirSync(join(folder, 'adapters/far'))).toHaveLength(1);
});

test('a directory that was changed stays where there is none to replace it', async () => {
  mkdirSync(join(folder, 'adapters/desk/weigh-bbbbbbbbbbbb'), { recursive: true });
  damage('adapters/desk/weigh-bbbbbbbbbbbb/weights.json', '"W"');
  const missing = join(folder, 'outside', 'missing');
  const adopted = store.adoptDirectory('adapters/desk', 'weigh', 'b'.repeat(64), missing);
  await expect(adopted).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await store.list('adapters/desk/weigh-bbbbbbbbbbbb')).toEqual(['weights.json']);
});

test('entries are listed sorted, and a missing folder has none', async () => {
  for (const name of ['b.txt', 'a.txt']) await store.put('listed', name, name);
  expect((await store.list('listed')).map((name) => name.slice(0, 1))).toEqual(['a', 'b']);
  expect(await store.list('nowhere')).toEqual([]);
});

test.each(['../secret', '/etc/passwd', 'a/../../secret'])('the key %s, which leaves the store, is refused', (key) => {
  expect(() => store.localPath(key)).toThrow(RangeError);
});

/** Paths of the files and folders that are written to the disk from now on, each as it was called then. */
async function syncedPaths(): Promise<string[]> {
  const file = await open(folder);
  const prototype = Object.getPrototypeOf(file) as FileHandle;
  await file.close();
  const { sync } = prototype;
  const paths: string[] = [];
  jest.spyOn(prototype, 'sync').mockImplementation(function (this: FileHandle) {
    paths.push(readlinkSync(`/proc/self/fd/${this.fd}`));
    return sync.call(this);
  });
  return paths;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
