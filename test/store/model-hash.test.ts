// Tier: unit.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FileStamp, modelDirectorySha256 } from '../../store/model-hash';

const folder = mkdtempSync(join(tmpdir(), 'whet-hash-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const trainersHash = (directory: string): string =>
  execFileSync(
    'python3',
    [
      '-c',
      'import pathlib, sys; from whetstone.tree_hash import tree_sha256; print(tree_sha256(pathlib.Path(sys.argv[1])))',
      directory,
    ],
    { encoding: 'utf8', env: { ...process.env, PYTHONPATH: join(__dirname, '..', '..', 'trainer-image') } },
  ).trim();

test("is the trainer's hash of the same directory", async () => {
  mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  const files = {
    'config.json': '{}',
    'Z.json': 'upper case sorts first',
    'a/b/model.safetensors': 'weights',
    'a-b.txt': 'dash',
    'notes.md': 'not part of it',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const expected = trainersHash(folder);
  expect(await modelDirectorySha256(folder)).toBe(expected);
  writeFileSync(join(folder, 'notes.md'), 'changed');
  expect(await modelDirectorySha256(`${folder}/`)).toBe(expected);
});

test("follows links to files, of which the hub's cache is made", async () => {
  const linked = mkdtempSync(join(folder, 'linked-'));
  const plain = mkdtempSync(join(folder, 'plain-'));
  for (const [name, text] of Object.entries({ 'config.json': '{}', 'model.safetensors': 'weights' })) {
    writeFileSync(join(plain, name), text);
    writeFileSync(join(linked, `blob-${name.length}`), text);
    symlinkSync(`blob-${name.length}`, join(linked, name));
  }
  symlinkSync('nowhere', join(linked, 'broken.json'));
  const hash = await modelDirectorySha256(linked);
  expect(hash).toBe(trainersHash(linked));
  expect(hash).toBe(await modelDirectorySha256(plain));
});

test('an interrupted hashing goes on behind the last whole file, and tells how far it is', async () => {
  const directory = mkdtempSync(join(folder, 'large-'));
  for (const name of ['1.safetensors', '2.safetensors', '3.safetensors']) writeFileSync(join(directory, name), name);
  const kept = new Map<string, { stamp: FileStamp; sha256: string }>();
  const hashes = {
    find: async (path: string) => kept.get(path)?.sha256,
    keep: async (path: string, stamp: FileStamp, sha256: string) => void kept.set(path, { stamp, sha256 }),
  };
  const stop = new AbortController();
  await expect(
    modelDirectorySha256(directory, {
      hashes,
      signal: stop.signal,
      onProgress: (done) => done > 13 && stop.abort(new Error('killed')),
    }),
  ).rejects.toThrow('killed');
  expect([...kept.keys()]).toEqual(['1.safetensors', '2.safetensors'].map((name) => join(directory, name)));
  const seen: number[] = [];
  const hash = await modelDirectorySha256(directory, { hashes, onProgress: (done) => seen.push(done) });
  expect(hash).toBe(await modelDirectorySha256(directory));
  expect(readdirSync(directory)).toHaveLength(kept.size);
  expect(seen.at(-1)).toBe(39);
});
