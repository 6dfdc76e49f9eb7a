// tier: integration
import type { Canary, Registry, RegistryVersion } from '../../contracts/artifacts/registry';
import {
  activateVersion,
  addVersion,
  changeDictionary,
  changeRegistry,
  emptyRegistry,
  endCanary,
  LocalStore,
  readDictionary,
  readRegistry,
  rollbackVersion,
  startCanary,
} from '../../store';
import { temporaryStore } from './temporary-store';

const { folder, store } = temporaryStore();
const NOW = new Date('2026-11-22T00:00:00.000Z');

const version = (runId: string): Omit<RegistryVersion, 'version' | 'replaced'> => ({
  runId,
  createdAt: NOW.toISOString(),
  baseModelSha256: '0'.repeat(64),
  adapters: [],
  routedMinusBase: { estimate: 0.1, low: 0.05, high: 0.15 },
  judgedRouter: {
    kind: 'base',
    artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
  },
});
const canary = (number: number): Canary => ({
  id: '0123456789ab',
  version: number,
  share: 0.1,
  falseRollback: 0.05,
  startedAt: NOW.toISOString(),
});
const withVersions = (count: number): Registry =>
  Array.from({ length: count }, (_, i) => version(`run-${i + 1}`)).reduce(
    (registry, each) => addVersion(registry, each).registry,
    emptyRegistry('desk'),
  );

test('versions are numbered, and the newest is active', () => {
  const registry = withVersions(2);
  expect(registry).toMatchObject({ active: 2, versions: [{ version: 1 }, { version: 2 }] });
});

test('a version says which one it replaced: the one that was served, whatever its number', () => {
  const after = addVersion(activateVersion(withVersions(2), 1).registry, version('run-3')).registry;
  expect(after.versions.map(({ replaced }) => replaced)).toEqual([null, 1, 1]);
  const base = addVersion(activateVersion(after, null).registry, version('run-4')).registry;
  expect(base.versions.at(-1)).toMatchObject({ version: 4, replaced: null });
});

test('a run adds one version, however often it tries, and does not undo a rollback', () => {
  const rolledBack = rollbackVersion(withVersions(2)).registry;
  expect(addVersion(rolledBack, version('run-2'))).toEqual({ registry: rolledBack, changed: false, result: 2 });
});

test('rollback goes down to the base model and no further', () => {
  const first = rollbackVersion(withVersions(2));
  expect(first).toMatchObject({ changed: true, result: 1 });
  const second = rollbackVersion(first.registry);
  expect(second).toMatchObject({ changed: true, result: null });
  expect(() => rollbackVersion(second.registry)).toThrow(/nothing to roll back/);
});

test('only a version that exists can be activated, and activating the active one changes nothing', () => {
  expect(() => activateVersion(withVersions(2), 3)).toThrow(/no version 3 .*versions: 1, 2/);
  expect(activateVersion(withVersions(2), 2)).toMatchObject({ changed: false, result: 2 });
});

test('a canary ends as promoted, superseded, rolled back or stopped', () => {
  const running = startCanary(activateVersion(withVersions(2), 1).registry, canary(2)).registry;
  expect(running).toMatchObject({ active: 1, canary: { version: 2 } });
  const outcome = (registry: Registry) => [registry.canary, registry.active, registry.lastCanary?.outcome];
  expect(outcome(activateVersion(running, 2).registry)).toEqual([undefined, 2, 'promoted']);
  expect(outcome(activateVersion(running, null).registry)).toEqual([undefined, null, 'superseded']);
  expect(outcome(rollbackVersion(running).registry)).toEqual([undefined, 1, 'rolled-back']);
  expect(outcome(endCanary(running, 'stopped', 'By hand.').registry)).toEqual([undefined, 1, 'stopped']);
});

test('a canary needs a version that is not active, and a late verdict leaves its successor alone', () => {
  expect(() => startCanary(withVersions(1), canary(1))).toThrow(/gets all conversations already/);
  expect(() => endCanary(withVersions(1), 'stopped', 'By hand.')).toThrow(/has no canary/);
  const running = startCanary(activateVersion(withVersions(2), 1).registry, canary(2)).registry;
  expect(endCanary(running, 'rolled-back', 'Late.', 'ffffffffffff').changed).toBe(false);
});

test('runs that promote at the same time all get a version of their own', async () => {
  expect(await readRegistry(store, 'desk')).toEqual(emptyRegistry('desk'));
  const results = await Promise.all(
    ['a', 'b', 'c'].map((runId) =>
      changeRegistry(new LocalStore(folder), 'desk', (registry) => addVersion(registry, version(runId))),
    ),
  );
  expect(results.map(({ result }) => result).sort()).toEqual([1, 2, 3]);
  expect((await readRegistry(store, 'desk')).versions.map(({ runId }) => runId).sort()).toEqual(['a', 'b', 'c']);
});

test('promote and rollback write the active version; an impossible change writes nothing', async () => {
  await changeRegistry(store, 'desk', (registry) => activateVersion(registry, 1));
  expect((await readRegistry(store, 'desk')).active).toBe(1);
  await expect(changeRegistry(store, 'desk', (registry) => activateVersion(registry, 9))).rejects.toMatchObject({
    type: 'Registry.Impossible',
  });
  await changeRegistry(store, 'desk', rollbackVersion);
  expect((await readRegistry(store, 'desk')).active).toBeNull();
});

test('runs that change the dictionary at the same time lose no entry', async () => {
  const known = { summary: 'does it', description: 'does it', state: 'lacking' as const, aliases: [], history: [] };
  expect(await readDictionary(store, 'desk')).toEqual({ agent: 'desk', entries: [] });
  await Promise.all(
    ['a', 'b', 'c'].map((id) =>
      changeDictionary(new LocalStore(folder), 'desk', ({ agent, entries }) => ({
        agent,
        entries: [...entries, { ...known, id, name: id }],
      })),
    ),
  );
  expect((await readDictionary(store, 'desk')).entries.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c']);
});

test('a change that leaves the dictionary as it is writes nothing', async () => {
  await changeDictionary(store, 'quiet', (dictionary) => dictionary);
  expect(await store.readDocument('dictionary/quiet.json')).toBeNull();
});
