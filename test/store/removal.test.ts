// unit: what the garbage collector lists and removes in a local store.
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  existsSync,
  readFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelDirectorySha256 } from '../../store/model-hash';
import { temporaryStore } from './temporary-store';

const { folder, store } = temporaryStore();
const DAY_MS = 86_400_000;
const yesterday = () => Date.now() - DAY_MS;

/** Writes a file and makes it and its folder two days old. */
function old(key: string, text = key): string {
  const path = join(folder, key);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  const then = new Date(Date.now() - 2 * DAY_MS);
  for (let at = path; at !== folder; at = join(at, '..')) utimesSync(at, then, then);
  return path;
}

const keysUnder = async (prefix: string): Promise<string[]> => {
  const keys: string[] = [];
  for await (const { key } of store.listAll(prefix)) keys.push(key);
  return keys;
};

test('lists every file under a prefix with its size and time, and follows no link', async () => {
  old('runs/a/spec.json', '{}');
  old('runs/a/work/odd name\n"☃".jsonl');
  old('runs/ab/spec.json');
  const outside = mkdtempSync(join(tmpdir(), 'whet-outside-'));
  writeFileSync(join(outside, 'secret'), 'secret');
  symlinkSync(outside, join(folder, 'runs/a/link'));
  symlinkSync(join(outside, 'secret'), join(folder, 'runs/a/secret'));
  expect(await keysUnder('runs/a')).toEqual(['runs/a/spec.json', 'runs/a/work/odd name\n"☃".jsonl']);
  expect(await keysUnder('')).toContain('runs/ab/spec.json');
  expect(await keysUnder('nothing')).toEqual([]);
  for await (const file of store.listAll('runs/a/spec.json')) expect(file).toBe(undefined);
  await expect(keysUnder('../..')).rejects.toThrow('leaves the store');
});

test('removes a folder as a whole, and nothing that is younger than asked', async () => {
  const path = old('runs/gone/spec.json');
  expect(await store.remove('runs/gone', Date.now() - 3 * DAY_MS)).toBe(false);
  expect(existsSync(path)).toBe(true);
  writeFileSync(join(folder, 'runs/gone/work.jsonl'), 'new');
  expect(await store.remove('runs/gone', yesterday())).toBe(false);
  old('runs/gone/work.jsonl');
  expect(await store.remove('runs/gone', yesterday())).toBe(true);
  expect(existsSync(join(folder, 'runs/gone'))).toBe(false);
  expect(readdirSync(join(folder, '.removed'))).toEqual([]);
  expect(await store.remove('runs/gone', yesterday())).toBe(false);
});

test('an adapter that a run takes over again counts as new', async () => {
  old('adapters/desk/refund/adapter.safetensors');
  const source = mkdtempSync(join(tmpdir(), 'whet-adapter-'));
  const sha256 = await modelDirectorySha256(join(folder, 'adapters/desk/refund'));
  renameSync(join(folder, 'adapters/desk/refund'), join(folder, `adapters/desk/refund-${sha256.slice(0, 12)}`));
  const key = await store.adoptDirectory('adapters/desk', 'refund', sha256, source);
  expect(await store.remove(key, yesterday())).toBe(false);
  expect(existsSync(join(folder, key, 'adapter.safetensors'))).toBe(true);
});

test('a link never leads a removal out of the store', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'whet-outside-'));
  writeFileSync(join(outside, 'mine'), 'mine');
  mkdirSync(join(outside, 'x'));
  mkdirSync(join(folder, 'runs'), { recursive: true });
  symlinkSync(outside, join(folder, 'runs', 'evil'));
  const never = Number.MAX_SAFE_INTEGER;
  expect(await store.remove('runs/evil', never)).toBe(false);
  await expect(store.remove('runs/evil/x', never)).rejects.toThrow('outside the store');
  await expect(store.remove('../somewhere', never)).rejects.toThrow('leaves the store');
  await expect(store.remove('', never)).rejects.toThrow('as a whole');
  await expect(store.remove('runs/..', never)).rejects.toThrow('as a whole');
  // Links inside what is removed go; what they point to stays.
  old('runs/linked/spec.json');
  symlinkSync(outside, join(folder, 'runs/linked/out'));
  expect(await store.remove('runs/linked', never)).toBe(true);
  expect(readFileSync(join(outside, 'mine'), 'utf8')).toBe('mine');
});
