// tier: integration
/** What the documents of a local store do on disk. What all stores do is in conformance.ts. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { changeDocument, layout, LocalStore, StoreConflictError } from '../../store';
import { temporaryStore } from './temporary-store';

const { folder, store } = temporaryStore();
const other = new LocalStore(folder);
const versionsOf = (key: string) => readdirSync(join(folder, `${key}.versions`)).sort();
const contentOf = (key: string, version: string) => join(folder, `${key}.versions`, `content-${version}.json`);

test('a document is a folder with its content, the content before, and the head that names the version', async () => {
  const versions = [await store.swapDocument('a.json', { n: 1 }, null)];
  for (const n of [2, 3]) versions.push(await store.swapDocument('a.json', { n }, versions.at(-1)!));
  expect(versionsOf('a.json')).toEqual([
    `content-${versions[1]}.json`,
    `content-${versions[2]}.json`,
    `head-${versions[2]}`,
  ]);
  expect(readFileSync(contentOf('a.json', versions[2]!), 'utf8')).toBe('{\n  "n": 3\n}\n');
  expect(versions[2]).toMatch(/^00000003-[0-9a-f]{16}-[0-9a-f]{12}$/);
});

test('a writer that was stopped for long overwrites nothing, and its content is removed', async () => {
  const read = await store.swapDocument('stopped.json', 1, null);
  let version = read;
  for (const value of [2, 3]) version = await other.swapDocument('stopped.json', value, version);
  await expect(store.swapDocument('stopped.json', 'late', read)).rejects.toBeInstanceOf(StoreConflictError);
  expect((await other.readDocument('stopped.json'))?.value).toBe(3);
  expect(versionsOf('stopped.json')).toHaveLength(3);
});

test('what killed writers leave is removed by later changes', async () => {
  const version = await store.swapDocument('left.json', 1, null);
  const stray = `00000002-0123456789abcdef-0123456789ab`;
  writeFileSync(contentOf('left.json', stray), '"nobody');
  await store.swapDocument('left.json', 2, version);
  expect(versionsOf('left.json')).not.toContain(`content-${stray}.json`);
  mkdirSync(join(folder, 'born.json.versions.0123456789ab.tmp'));
  expect(await store.list('')).not.toContain('born.json.versions.0123456789ab.tmp');
  await store.swapDocument('born.json', 1, null);
  expect(readdirSync(folder).filter((name) => name.startsWith('born.json'))).toEqual(['born.json.versions']);
});

test.each([
  ['on one machine its owner alone', undefined, 0o600],
  ['in a cluster the group of the pods', '10.0.0.1', 0o640],
])('a secret may be read by %s', async (_, cluster, mode) => {
  const key = layout.redactionSecret;
  if (cluster !== undefined) process.env['KUBERNETES_SERVICE_HOST'] = cluster;
  try {
    rmSync(join(folder, `${key}.versions`), { recursive: true, force: true });
    const first = await store.swapDocument(key, { secret: 'a' }, null);
    const second = await store.swapDocument(key, { secret: 'b' }, first);
    for (const version of [first, second]) expect(statSync(contentOf(key, version)).mode & 0o777).toBe(mode);
  } finally {
    delete process.env['KUBERNETES_SERVICE_HOST'];
  }
});

describe('a damaged document', () => {
  const DAMAGES: Record<string, (path: string) => void> = {
    empty: (path) => truncateSync(path, 0),
    torn: (path) => truncateSync(path, 4),
    'other JSON': (path) => writeFileSync(path, '{}'),
    gone: (path) => rmSync(path),
  };
  test.each(Object.keys(DAMAGES))(
    '(%s) is Store.Corrupt, and its message goes back to the version before',
    async (how) => {
      const key = `damaged ${how}.json`;
      const first = await store.swapDocument(key, { n: 1 }, null);
      const second = await store.swapDocument(key, { n: 2 }, first);
      DAMAGES[how]!(contentOf(key, second));
      const error = (await store.readDocument(key).catch((caught: unknown) => caught)) as Error;
      expect(error).toMatchObject({ type: 'Store.Corrupt' });
      expect(error.message).toContain(`Document ${key} is damaged: ${contentOf(key, second)} is`);
      execFileSync('sh', ['-c', error.message.slice(error.message.indexOf(': mv ') + 2)]);
      expect(await store.readDocument(key)).toEqual({ value: { n: 1 }, version: first });
      await store.swapDocument(key, { n: 3 }, first);
      expect((await store.readDocument(key))?.value).toEqual({ n: 3 });
    },
  );

  test('without its head can be set back too', async () => {
    const version = await store.swapDocument('headless.json', { n: 1 }, null);
    rmSync(join(folder, 'headless.json.versions', `head-${version}`));
    const error = (await store.readDocument('headless.json').catch((caught: unknown) => caught)) as Error;
    expect(error.message).toContain('has no entry head-...');
    execFileSync('sh', ['-c', error.message.slice(error.message.indexOf(': touch ') + 2)]);
    expect((await store.readDocument('headless.json'))?.value).toEqual({ n: 1 });
  });
});

describe('changeDocument', () => {
  test('writes nothing for a change without a value', async () => {
    expect(await changeDocument(store, 'untouched.json', (before) => ({ result: before }))).toBeUndefined();
    expect(await store.list('')).not.toContain('untouched.json');
  });

  test('goes on after many lost races, until its time is over', async () => {
    const contested = Object.create(store) as LocalStore;
    let swaps = 0;
    contested.swapDocument = () => Promise.reject(new StoreConflictError(`lost ${++swaps}`));
    const change = () => ({ value: 1, result: 1 });
    await expect(changeDocument(contested, 'e.json', change, 500)).rejects.toThrow(/^lost \d+$/);
    contested.swapDocument = (...args) =>
      ++swaps < 30 ? Promise.reject(new StoreConflictError('lost')) : store.swapDocument(...args);
    swaps = 0;
    expect(await changeDocument(contested, 'e.json', change)).toBe(1);
  });

  test('passes an error of the change on, and leaves nothing behind', async () => {
    const broken = changeDocument(store, 'f.json', () => {
      throw new RangeError('no such version');
    });
    await expect(broken).rejects.toThrow(RangeError);
    expect(readdirSync(folder).filter((name) => name.startsWith('f.json'))).toEqual([]);
  });
});
