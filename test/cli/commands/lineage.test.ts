// tier: unit (real store)
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { assembleReport } from '../../../activities/report/assemble-report';
import { lineageCommand } from '../../../cli/commands/lineage';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import type { Report } from '../../../contracts/artifacts/report';
import { addVersion, changeRegistry, layout, LocalStore, putLines } from '../../../store';
import { sampleRun } from '../../activities/report/sample-run';

const folder = mkdtempSync(join(tmpdir(), 'whet-lineage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const settings = readSettings({ WHET_HOME: folder });
const store = new LocalStore(settings.storeRoot);
const EVIDENCE = 'ab'.repeat(32);
const CONVERSATION = 'cd'.repeat(32);

interface Printed {
  kind: string;
  id: string;
  from: { kind: string; count: number; items: { id: string }[] }[];
  to: { kind: string; count: number; items: { id: string }[] }[];
  damaged: { file: string }[];
}

async function lineage(id: string): Promise<Printed & { text: string }> {
  let printed: [unknown, string] | null = null;
  const out = { ...createOutput(true), result: (data: unknown, text: string) => void (printed = [data, text]) };
  await lineageCommand({ settings, out }, id);
  const [data, text] = printed!;
  return { ...(data as Printed), text };
}

const kinds = (groups: Printed['from']) => groups.map(({ kind, count }) => `${kind} ${count}`);

let report: Report;
let id: string;
let adapter: { name: string; sha256: string; key: string };

beforeAll(async () => {
  report = await assembleReport(store, await sampleRun(store), new Date('2026-11-23T00:00:00Z'));
  const trained = report.sharpened.find((one) => one.adapter !== null)!;
  id = trained.capability.id;
  adapter = trained.adapter!;
  const quote = { task: 4, trial: 0, step: 2, quote: 'x', reason: 'x', runsLacking: 1, runs: 1 };
  report.identification.evidence = [{ capabilityId: id, trajectoryId: EVIDENCE, ...quote }];
  mkdirSync(store.localPath(layout.report(report.runId)), { recursive: true });
  writeFileSync(store.localPath(`${layout.report(report.runId)}/report.json`), JSON.stringify(report));
  for (const runId of [report.runId, 'run-later'])
    await changeRegistry(store, report.agent, (registry) =>
      addVersion(registry, {
        runId,
        createdAt: report.createdAt,
        baseModelSha256: report.baseModel.sha256,
        adapters: [{ ...pick(adapter), capabilityId: id, summary: '' }],
        routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
        judgedRouter: {
          kind: 'base',
          artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
        },
      }),
    );
  await putLines(store, layout.traces(report.agent, '2026-11-22'), 'gateway.jsonl', [
    { id: CONVERSATION, answeredBy: [{ model: adapter.name, version: 1 }] },
    { id: 'ef'.repeat(32), answeredBy: [{ model: 'orders-desk-base', version: null }] },
    { odd: true },
  ]);
});

const pick = ({ name, sha256, key }: typeof adapter) => ({ name, sha256, key });

test('an adapter: back to the trajectories, and on to versions and conversations', async () => {
  const found = await lineage(adapter.name);
  expect(found).toMatchObject({ kind: 'adapter', id: adapter.name });
  expect(kinds(found.from)).toEqual([
    'trajectory 1',
    'capability 1',
    expect.stringContaining('environment'),
    'training 1',
  ]);
  expect(kinds(found.to)).toEqual(['version 2', 'conversation 1']);
  expect(found.text).toContain(`${report.agent}@2 (promoted by run-later, active)`);
  expect(found.text).toContain(`${report.runId}/${id}`);
  expect((await lineage(adapter.sha256.slice(0, 12))).id).toBe(adapter.name);
});

test('each kind of id is found, from both ends', async () => {
  expect(kinds((await lineage(CONVERSATION)).from)).toContain('version 1');
  expect((await lineage(CONVERSATION)).from[0]).toMatchObject({ kind: 'trajectory', items: [{ id: EVIDENCE }] });
  expect(kinds((await lineage(EVIDENCE.slice(0, 8))).to).at(-1)).toBe('conversation 1');
  expect((await lineage(`${report.agent}/${id}`)).kind).toBe('capability');
  expect((await lineage(`${report.runId}/${id}`)).kind).toBe('training');
  expect((await lineage(`${report.agent}@1`)).kind).toBe('version');
  const { items } = (await lineage(adapter.name)).from.find(({ kind }) => kind === 'environment')!;
  expect((await lineage(items[0]!.id)).kind).toBe('environment');
});

test('a conversation that base answered came from nothing here', async () => {
  const found = await lineage('ef'.repeat(32));
  expect(found.from).toEqual([]);
  expect(found.text).toContain('came from: nothing that the store has a record of');
});

test.each(['nothing', '../../registry', 'ab', '\u001b[2J'])('%j is refused with the kinds of id', async (unknown) => {
  const refused = { type: 'Lineage.NotFound', exitCode: 2, message: expect.stringContaining('AGENT@NUMBER') as string };
  await expect(lineage(unknown)).rejects.toMatchObject(refused);
});

test('files where traces have folders are named as damaged', async () => {
  const keys = ['traces/notes', 'traces/parcels/today'];
  mkdirSync(store.localPath('traces/parcels'), { recursive: true });
  for (const key of keys) writeFileSync(store.localPath(key), 'kept here for later');
  const { damaged } = await lineage(adapter.name);
  for (const key of keys) rmSync(store.localPath(key));
  expect(damaged.map(({ file }) => file)).toEqual(expect.arrayContaining(keys.map((key) => store.localPath(key))));
});

test('a report or traces that are a pipe are named as damaged', async () => {
  const paths = [`${layout.report('run-pipe')}/report.json`, `${layout.traces(report.agent, '2026-11-24')}/x.jsonl`];
  for (const path of paths.map((key) => store.localPath(key))) {
    mkdirSync(dirname(path), { recursive: true });
    execFileSync('mkfifo', [path]);
  }
  const { damaged } = await lineage(adapter.name);
  expect(damaged.map(({ file }) => file)).toEqual(expect.arrayContaining(paths.map((key) => store.localPath(key))));
});
