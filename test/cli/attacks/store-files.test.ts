// tier: unit
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { layout, LocalStore } from '../../../store';
import { writeDocument } from '../../helpers/stored-document';
import { expectPlain, type Said, whet } from './whet';

const folder = mkdtempSync(join(tmpdir(), 'whet-hostile-store-'));
const before = { ...process.env };
let home: string;
let secret: string;

beforeEach(() => {
  home = mkdtempSync(join(folder, 'home-'));
  secret = join(folder, 'secret.json');
  writeFileSync(secret, '{"hunter2": "a file of somebody else"}');
  process.env['WHET_HOME'] = home;
  process.env['TEMPORAL_ADDRESS'] = '127.0.0.1:1';
});
afterAll(() => {
  process.env = before;
  rmSync(folder, { recursive: true, force: true });
});

const REGISTRY = (): string => join(home, 'store', layout.registry('desk'));
const HOSTILE = '\u001b[2J\u001b]52;c;AAAA\u0007\u009b31m\u202e\u2028\r';
const version = (change: object = {}): object => ({
  version: 1,
  runId: 'run-1',
  createdAt: '2026-11-21T00:00:00Z',
  replaced: null,
  baseModelSha256: 'a'.repeat(64),
  adapters: [],
  routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
  judgedRouter: {
    kind: 'base',
    artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
  },
  ...change,
});
const registry = (change: object = {}, ...versions: object[]): string =>
  JSON.stringify({ agent: 'desk', active: null, versions, ...change });

const COMMANDS = [
  ['promote', 'desk', '1'],
  ['rollback', 'desk'],
  ['canary', 'desk'],
  ['canary', 'desk', '1'],
];
async function tell(): Promise<Said[]> {
  const all: Said[] = [];
  for (const argv of COMMANDS) {
    const said = await whet(...argv);
    expectPlain(said);
    expect(said.all).not.toContain('hunter2');
    all.push(said, await whet(...argv, '--json'));
    expectPlain(all.at(-1)!);
  }
  return all;
}

test.each<[string, string | Buffer]>([
  ['torn in the middle of a character', Buffer.from([0x7b, 0x22, 0xe2, 0x82])],
  ['only zeros', Buffer.alloc(4096)],
  ['a number', '7'],
  ['the word null', 'null'],
  ['brackets, 100,000 deep', '['.repeat(100_000)],
  ['an object, 50,000 deep', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
  ['a prototype', '{"__proto__": {"agent": "desk", "active": null, "versions": []}}'],
  ['another agent', registry({ agent: 'other' }, version())],
  ['versions as an object', '{"agent":"desk","active":null,"versions":{"0":{}}}'],
  ['a version of 2^53', registry({}, version({ version: 2 ** 53 }))],
  ['a version below 0', registry({}, version({ version: -1 }))],
  ['an active version that is not there', registry({ active: 9 }, version())],
  ['a version twice', registry({ active: 1 }, version(), version())],
  ['a gain of text', registry({}, version({ routedMinusBase: 'high' }))],
  ['an unknown field', registry({ colour: 'x' }, version())],
  ['a date that is none', registry({}, version({ createdAt: HOSTILE }))],
  ['a mark of byte order', `\ufeff${registry({}, version())}`],
])('a registry that is %s: a sentence or an answer, never a stack', async (_name, text) => {
  writeDocument(REGISTRY(), text);
  for (const { code, all } of await tell()) {
    expect([0, 1, 2]).toContain(code);
    expect(all).not.toBe('');
  }
  expect(({} as Record<string, unknown>)['versions']).toBeUndefined();
});

test.each<[string, object]>([
  ['a run', { runId: HOSTILE }],
  ['a time', { createdAt: `2026-11-21T00:00:00Z${HOSTILE}` }],
  ['a hash', { baseModelSha256: HOSTILE }],
  [
    'an adapter',
    { adapters: [{ name: HOSTILE, capabilityId: HOSTILE, summary: HOSTILE, key: HOSTILE, sha256: 'b'.repeat(64) }] },
  ],
  [
    'a path of an adapter',
    { adapters: [{ name: 'x', capabilityId: 'x', summary: 'x', key: '../../../secret.json', sha256: 'b'.repeat(64) }] },
  ],
])('printed text: hostile letters in %s of a version come out harmless', async (_name, change) => {
  writeDocument(REGISTRY(), registry({}, version(change)));
  await tell();
});

test.each<[string, (path: string) => void]>([
  ['a directory', (path) => mkdirSync(path)],
  ['a link to a file of somebody else', (path) => symlinkSync(secret, path)],
  ['a link to itself', (path) => symlinkSync(path, path)],
  ['a link to nothing', (path) => symlinkSync('/nowhere/at/all', path)],
  ['a link to a device', (path) => symlinkSync('/dev/full', path)],
  ['a file of 3 GB', (path) => (writeFileSync(path, ''), truncateSync(path, 3 * 2 ** 30))],
])('a registry whose content is %s: a sentence, and what it leads to is left alone', async (_name, make) => {
  const [content] = writeDocument(REGISTRY(), '{}');
  rmSync(content);
  make(content);
  const isRead = !_name.startsWith('a link');
  for (const { code, all } of await tell()) {
    expect([1, 2]).toContain(code);
    if (isRead) expect(all).toContain(REGISTRY());
  }
  expect(readFileSync(secret, 'utf8')).toBe('{"hunter2": "a file of somebody else"}');
  expect(readdirSync(folder).filter((name) => !name.startsWith('home-'))).toEqual(['secret.json']);
});

test.each<[string, (store: string) => void]>([
  ['a file', (store) => writeFileSync(store, '')],
  ['a link to itself', (store) => symlinkSync(store, store)],
  ['a link to a file', (store) => symlinkSync(secret, store)],
])('a store that is %s: a sentence', async (_name, make) => {
  make(join(home, 'store'));
  for (const { code } of await tell()) expect([1, 2]).toContain(code);
});

test.each<[string, string, string]>([
  ['a run', '../../../../x', 'c'],
  ['a capability', 'run-1', '../../../x'],
  ['a run with a NUL', 'run\0', 'c'],
])('an environment of %s that leads outside is not copied', async (_name, run, capability) => {
  const store = new LocalStore(join(home, 'store'));
  await store.put(layout.environments('run-1', 'c'), 'attempt-1.py', '# x\n');
  const said = await whet('env', 'edit', run, capability);
  expect(said.code).toBe(2);
  expectPlain(said);
});

test.each<[string, string]>([
  ['text', 'hello'],
  ['a process of 2^53', JSON.stringify({ instance: 'x', supervisor: { pid: 2 ** 53, startTicks: 1 } })],
  ['process 1', JSON.stringify({ instance: 'x', supervisor: { pid: 1, startTicks: 1 }, services: [] })],
  ['a process below 0', JSON.stringify({ instance: 'x', supervisor: { pid: -1, startTicks: 1 }, services: [] })],
  ['hostile letters', JSON.stringify({ instance: HOSTILE, agentPath: HOSTILE, services: [{ name: HOSTILE }] })],
])('a supervisor.json of %s: `whet status` and `whet down` end no process and print plainly', async (_name, text) => {
  writeFileSync(join(home, 'supervisor.json'), text);
  const killed = jest.spyOn(process, 'kill').mockImplementation(() => true);
  try {
    for (const command of ['status', 'down']) expectPlain(await whet(command));
    const ended = killed.mock.calls.filter(([, signal]) => signal !== 0 && signal !== undefined);
    expect(ended).toEqual([]);
  } finally {
    killed.mockRestore();
  }
});
