// tier: unit (real store)
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assembleReport } from '../../../activities/report/assemble-report';
import { lineageCommand } from '../../../cli/commands/lineage';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import type { Report } from '../../../contracts/artifacts/report';
import { type AnsweringModel, SEVERAL_MODELS } from '../../../contracts/artifacts/trajectory';
import { addVersion, changeRegistry, layout, LocalStore, putJson, putLines } from '../../../store';
import { sampleRun } from '../../activities/report/sample-run';

const folder = mkdtempSync(join(tmpdir(), 'whet-lineage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const settings = readSettings({ WHET_HOME: folder });
const store = new LocalStore(settings.storeRoot);

const idOf = (text: string) => Buffer.from(text).toString('hex').padEnd(64, '0').slice(0, 64);
const [ONE, SEVERAL, BASE, LEARNED, REMOVED] = ['one', 'several', 'base', 'learned', 'gone'].map(idOf) as [
  string,
  string,
  string,
  string,
  string,
];
const EARLIER = { name: 'heavy@000000000000', sha256: '0'.repeat(64), key: 'adapters/orders-desk/heavy-0', version: 1 };

interface Group {
  kind: string;
  items: { id: string; about: string }[];
}
interface Printed {
  about: string;
  from: Group[];
  to: Group[];
}

async function lineage(id: string): Promise<Printed> {
  let printed: unknown = null;
  const out = { ...createOutput(true), result: (data: unknown) => void (printed = data) };
  await lineageCommand({ settings, out }, id);
  return printed as Printed;
}

const ids = (groups: Group[], kind: string) =>
  groups.filter((group) => group.kind === kind).flatMap(({ items }) => items.map(({ id }) => id));

let report: Report;
let first: NonNullable<Report['mixed']>;
let second: NonNullable<Report['mixed']>;

beforeAll(async () => {
  const input = await sampleRun(store);
  report = await assembleReport(store, input, new Date('2026-11-23T00:00:00Z'));
  const [one, two] = report.sharpened.filter(({ adapter }) => adapter !== null);
  [first, second] = [one!.adapter!, two!.adapter!];
  // The first adapter began from one of an earlier run, as report and manifest say.
  first.beginsFrom = { name: EARLIER.name, version: EARLIER.version };
  const manifest = await putJson(store, layout.training(report.runId, one!.capability.id), 'm.json', {
    beginsFrom: EARLIER,
    writtenBy: 'a trainer of another version',
  });
  const quote = { task: 4, trial: 0, step: 2, quote: 'x', reason: 'x', runsLacking: 1, runs: 1 };
  report.identification.evidence = [{ capabilityId: one!.capability.id, trajectoryId: LEARNED, ...quote }];
  report.collect.live = 2;
  const live = (id: string, split: string, ...answeredBy: AnsweringModel[]) => ({
    ...{ id, task: { seed: 1, split }, model: answeredBy[0]?.model ?? 'orders-desk-base' },
    ...(answeredBy.length > 0 && { answeredBy }),
  });
  const collected = await putLines(store, layout.trajectories(report.runId), 'collected.jsonl', [
    live(idOf('rollout'), 'train'),
    live(LEARNED, 'live', { model: EARLIER.name, version: 1 }),
    live(REMOVED, 'live', { model: EARLIER.name, version: 1 }),
  ]);
  report.artifacts = report.artifacts.map(({ role, ref }) => {
    if (role === `training manifest of ${one!.capability.id}`) return { role, ref: manifest };
    return { role, ref: role === 'trajectories of the base agent on train tasks' ? collected : ref };
  });
  mkdirSync(store.localPath(layout.report(report.runId)), { recursive: true });
  writeFileSync(store.localPath(`${layout.report(report.runId)}/report.json`), JSON.stringify(report));
  const versions = [[EARLIER], [first, second], [first, second], [second]];
  for (const [i, adapters] of versions.entries())
    await changeRegistry(store, report.agent, (registry) =>
      addVersion(registry, {
        runId: `run-${i}`,
        createdAt: report.createdAt,
        baseModelSha256: report.baseModel.sha256,
        adapters: adapters.map(({ name, sha256, key }) => ({ name, sha256, key, capabilityId: name, summary: '' })),
        routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
        judgedRouter: {
          kind: 'base',
          artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
        },
      }),
    );
  await putLines(store, layout.traces(report.agent, '2026-11-22'), 'gateway.jsonl', [
    live(ONE, 'live', { model: first.name, version: 3 }),
    {
      ...live(SEVERAL, 'live', { model: second.name, version: 2 }, { model: first.name, version: 3 }),
      model: SEVERAL_MODELS,
    },
    live(BASE, 'live', { model: 'orders-desk-base', version: 4 }),
    live(LEARNED, 'live', { model: EARLIER.name, version: 1 }),
  ]);
});

test('a conversation names its version alone, although others have the adapter', async () => {
  const { from, about } = await lineage(ONE);
  expect(ids(from, 'version').filter((id) => !id.endsWith('@1'))).toEqual([`${report.agent}@3`]);
  expect(about).toBe(`2026-11-22, answered by ${first.name} of version 3`);
});

test('a conversation names every adapter that answered it, in order, with their versions', async () => {
  const { from, about } = await lineage(SEVERAL);
  expect(about).toContain(`answered by ${second.name} of version 2, then ${first.name} of version 3`);
  expect(ids(from, 'adapter')).toEqual(expect.arrayContaining([first.name, second.name]));
  expect(ids(from, 'version')).toEqual(expect.arrayContaining([`${report.agent}@2`, `${report.agent}@3`]));
});

test('a conversation that base answered, because a version gave it none of its adapters, names that version', async () => {
  expect(ids((await lineage(BASE)).from, 'version')).toContain(`${report.agent}@4`);
});

test('an adapter and a version name the conversations that they answered', async () => {
  expect(ids((await lineage(first.name)).to, 'conversation').sort()).toEqual([ONE, SEVERAL].sort());
  expect(ids((await lineage(`${report.agent}@2`)).to, 'conversation')).toEqual([SEVERAL]);
  expect(ids((await lineage(`${report.agent}@3`)).to, 'conversation').sort()).toEqual([ONE, SEVERAL].sort());
  expect(ids((await lineage(`${report.agent}@4`)).to, 'conversation')).toEqual([BASE]);
});

test('an adapter leads back to the one that its training began from, and that one on to it', async () => {
  expect(ids((await lineage(first.name)).from, 'adapter')).toEqual([EARLIER.name]);
  const { to } = await lineage(EARLIER.sha256.slice(0, 8));
  expect(ids(to, 'adapter')).toContain(first.name);
  expect(ids(to, 'version')).toEqual([1, 2, 3].map((version) => `${report.agent}@${version}`));
  expect(ids((await lineage(second.name)).from, 'adapter')).toEqual([]);
});

test('a conversation that a run learned from leads to the capability that it became', async () => {
  const { to, from } = await lineage(LEARNED);
  expect(ids(to, 'capability')).toEqual([report.identification.evidence[0]!.capabilityId]);
  expect(ids(to, 'trajectory')).toEqual([LEARNED]);
  expect(ids(to, 'adapter')).toContain(first.name);
  expect(ids(from, 'version')).toEqual([`${report.agent}@1`]);
  const capability = `${report.agent}/${report.identification.evidence[0]!.capabilityId}`;
  expect(ids((await lineage(capability)).from, 'conversation')).toEqual([LEARNED]);
});

test("one whose trace is gone is found in the run's own file", async () => {
  const { about, from, to } = await lineage(REMOVED);
  expect(about).toContain(`collected by ${report.runId}, answered by ${EARLIER.name} of version 1`);
  expect(ids(from, 'version')).toEqual([`${report.agent}@1`]);
  expect(ids(to, 'trajectory')).toEqual([REMOVED]);
});
