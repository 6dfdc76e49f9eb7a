// tier: integration
/** Random changes of what a run leaves and a gateway serves: each is noticed before it is used. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { servedAdapters } from '../../activities/rollout/served-adapter';
import { AdapterCheck, type WantedAdapter } from '../../gateway/upstream/adapter-check';
import { activateVersion, addVersion, changeRegistry, getJson, getLines, putJson, readRegistry } from '../../store';
import { modelDirectorySha256 } from '../../store/model-hash';
import { seededRandom } from '../../activities/statistics/random';
import { temporaryStore } from './temporary-store';

const CHANGES = 200;
const { folder, store } = temporaryStore();
const random = seededRandom(36);
const below = (end: number): number => Math.floor(random() * end);
const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => below(256)));

/** Ways to change bytes. Some changes leave them as they were. */
const WAYS: Record<string, (data: Buffer, other: Buffer) => Buffer> = {
  'a bit': (data) => {
    const changed = Buffer.from(data);
    const at = below(data.length);
    changed[at] = changed[at]! ^ (1 << below(8));
    return changed;
  },
  'a byte more': (data) => {
    const at = below(data.length + 1);
    return Buffer.concat([data.subarray(0, at), bytes(1), data.subarray(at)]);
  },
  'a byte less': (data) => {
    const at = below(data.length);
    return Buffer.concat([data.subarray(0, at), data.subarray(at + 1)]);
  },
  'the end cut off': (data) => data.subarray(0, below(data.length)),
  'a blank at the end': (data) => Buffer.concat([data, Buffer.from(' ')]),
  'two halves changed over': (data) =>
    Buffer.concat([data.subarray(data.length / 2), data.subarray(0, data.length / 2)]),
  'another file': (_, other) => other,
  zeros: (data) => Buffer.alloc(data.length),
};

/** Something that is used: its files, and its reader, which rejects or returns false when it notices a change. */
interface Used {
  files: string[];
  read: () => Promise<unknown>;
}

async function storedAdapter(name: string): Promise<WantedAdapter & { key: string; capabilityId: string }> {
  const source = join(folder, 'outside', name);
  mkdirSync(source, { recursive: true });
  writeFileSync(join(source, 'adapter_config.json'), JSON.stringify({ peft_type: 'LORA', r: 8, for: name }));
  writeFileSync(join(source, 'adapter_model.safetensors'), bytes(5_000));
  const sha256 = await modelDirectorySha256(source);
  const key = await store.adoptDirectory('adapters/desk', name, sha256, source);
  return { name: `${name}@${sha256.slice(0, 12)}`, capabilityId: name, key, sha256, path: store.localPath(key) };
}

async function usedThings(): Promise<Used[]> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined };
  const check = new AdapterCheck(log);
  const adapters = await Promise.all(['refund', 'cancel', 'mixed'].map(storedAdapter));
  const version = {
    runId: 'run-desk-1',
    createdAt: '2026-11-21T00:00:00Z',
    baseModelSha256: 'a'.repeat(64),
    adapters: adapters.map(({ path: _, ...adapter }) => ({ ...adapter, summary: adapter.capabilityId })),
    routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
    judgedRouter: { kind: 'labels' as const, artifact: await putJson(store, 'runs/run-desk-1', 'router.json', {}) },
  };
  await changeRegistry(store, 'desk', (registry) => addVersion(registry, version));
  await changeRegistry(store, 'desk', (registry) => addVersion(registry, { ...version, runId: 'run-desk-2' }));
  await changeRegistry(store, 'desk', (registry) => activateVersion(registry, 1));
  const versions = join(store.localPath('registry/desk.json.versions'));
  const head = readdirSync(versions).find((name) => name.startsWith('head-'))!;
  const json = await putJson(store, 'runs/run-desk-1', 'report.json', { verdict: 'promoted', gain: 0.4 });
  const lines = await store.put('runs/run-desk-1', 'rollouts.jsonl', '{"reward":0}\n{"reward":1}\n'.repeat(500));
  const source = await store.put('runs/run-desk-1', 'environment.py', 'class Environment:\n    pass\n');
  const fileOf = ({ key }: { key: string }): string[] => [store.localPath(key)];
  return [
    // The readers of an evaluation and of the gateway.
    ...adapters.flatMap((adapter): Used[] => {
      const files = ['adapter_config.json', 'adapter_model.safetensors'].map((name) => join(adapter.path, name));
      return [
        { files, read: () => servedAdapters(store, [adapter]) },
        { files, read: async () => (await check.unchanged(adapters)).includes(adapter) },
      ];
    }),
    {
      files: [join(versions, `content-${head.slice('head-'.length)}.json`)],
      read: () => readRegistry(store, 'desk'),
    },
    { files: fileOf(json), read: () => getJson(store, json, z.unknown()) },
    { files: fileOf(json), read: () => store.getNamed(json.key) },
    { files: fileOf(lines), read: () => getLines(store, lines, z.unknown()) },
    { files: fileOf(source), read: () => store.get(source) },
  ];
}

test(`each of ${CHANGES} random changes of adapters, artifacts and registry is noticed before it is used`, async () => {
  const used = await usedThings();
  const noticed = ({ read }: Used): Promise<boolean> =>
    read().then(
      (value) => value === false,
      () => true,
    );
  const unnoticed: string[] = [];
  for (let change = 0; change < CHANGES; change++) {
    const thing = used[change % used.length]!;
    const file = thing.files[below(thing.files.length)]!;
    const others = used.flatMap(({ files }) => files).filter((path) => path !== file);
    const [way, make] = Object.entries(WAYS)[below(Object.keys(WAYS).length)]!;
    const before = readFileSync(file);
    const after = make(before, readFileSync(others[below(others.length)]!));
    writeFileSync(file, after);
    if ((await noticed(thing)) === after.equals(before)) unnoticed.push(`${change}: ${way} in ${file}`);
    writeFileSync(file, before);
    // What is whole again is used again.
    if (await noticed(thing)) unnoticed.push(`${change}: ${file} is refused although it is whole`);
  }
  expect(unnoticed).toEqual([]);
}, 300_000);
