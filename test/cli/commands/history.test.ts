// tier: unit
import { recordEnd } from '../../../activities/history';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyCommand } from '../../../cli/commands/history';
import type { Context } from '../../../cli/context';
import type { AgentHistory } from '../../../cli/history/read-history';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import type { Nights } from '../../../contracts/artifacts/night';
import type { Registry } from '../../../contracts/artifacts/registry';
import type { RunRecord } from '../../../contracts/artifacts/run-record';
import { activateVersion, addVersion, changeNights, changeRegistry, layout, LocalStore, putJson } from '../../../store';

const folder = mkdtempSync(join(tmpdir(), 'whet-history-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const settings = readSettings({ WHET_HOME: folder });
const store = new LocalStore(settings.storeRoot);

async function run(agent: string, html?: string): Promise<{ history: AgentHistory & { html?: string }; text: string }> {
  let printed: [unknown, string] | null = null;
  const out = { ...createOutput(true), result: (data: unknown, text: string) => void (printed = [data, text]) };
  await historyCommand({ settings, out } satisfies Context, agent, html === undefined ? {} : { html });
  const [history, text] = printed!;
  return { history: history as AgentHistory, text };
}

const record = (night: number, more: Partial<RunRecord> = {}): RunRecord => ({
  schemaVersion: 1,
  runId: `run-desk-${night}`,
  agent: 'desk',
  outcome: 'promoted',
  reasons: ['The gain is proved.'],
  startedAt: `2026-03-0${night}T02:00:00.000Z`,
  endedAt: `2026-03-0${night}T02:06:30.000Z`,
  figures: {
    new: [{ id: 'late-refunds', name: 'Late refunds <script>' }],
    recurring: [],
    fixed: [],
    regressed: [],
    sharpened: [],
    reused: [{ id: 'old-habit', name: 'Old habit', from: 'run-desk-0' }],
    promotedVersion: night,
    gain: { estimate: 0.368, low: 0.329, high: 0.407 },
    judged: { against: null, comparison: 2, confidence: 0.99240091 },
    spend: { rollouts: 100, trainingRollouts: 640, analystCalls: 12, analystTokens: 5000, usd: 0.4, modelTokens: 9000 },
  },
  ...more,
});

test('what drifts, and what is still lacking, is among what a night found', async () => {
  const { figures } = record(1);
  const drifting = [{ id: 'slow-answers', name: 'Slow answers' }];
  await putJson(store, layout.history('slow'), 'run-slow-1.json', {
    ...record(1),
    ...{ agent: 'slow', figures: { ...figures!, drifting, recurring: [{ id: 'stamps', name: 'No stamps' }] } },
  });
  const { history, text } = await run('slow');
  expect(history.nights[0]!.drifting).toEqual(['Slow answers']);
  expect(text).toContain('Slow answers (drifting)');
  expect(text).toContain('No stamps (still)');
});

test('episodes that failed stand beside the gain that they are not in', async () => {
  const { figures } = record(1);
  await putJson(store, layout.history('flaky'), 'run-flaky-1.json', {
    ...record(1),
    ...{ agent: 'flaky', figures: { ...figures!, failed: { simulator: 2, judge: 3 } } },
  });
  const { history, text } = await run('flaky', join(folder, 'flaky.html'));
  expect(history.nights[0]!.failed).toEqual({ simulator: 2, judge: 3 });
  expect(text).toContain('+36.8 [+32.9, +40.7]; 5 failed (3 judge, 2 simulator)');
  expect(readFileSync(join(folder, 'flaky.html'), 'utf8')).toContain('5 failed (3 judge, 2 simulator)');
});

const measured = (runId: string, night: number): Nights['nights'][number] => ({
  ...{ runId, night, version: 1, outcome: 'goes-on', reasons: [], worked: true },
  content: { environment: 'a', baseModel: 'b', options: 'c' },
});

const version = (
  night: number,
  ...capabilities: string[]
): Omit<Registry['versions'][number], 'version' | 'replaced'> => ({
  runId: `run-desk-${night}`,
  createdAt: `2026-03-0${night}T02:06:00Z`,
  baseModelSha256: 'a'.repeat(64),
  adapters: capabilities.map((capabilityId) => ({
    name: `${capabilityId}@${night}`,
    capabilityId,
    summary: '',
    key: `adapters/desk/${capabilityId}`,
    sha256: 'b'.repeat(64),
  })),
  routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
  judgedRouter: {
    kind: 'base',
    artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
  },
});

test('nights are listed oldest first with what each changed, and damaged files are named', async () => {
  await putJson(store, layout.history('desk'), 'run-desk-2.json', record(2));
  await putJson(store, layout.history('desk'), 'run-desk-1.json', record(1));
  await recordEnd(store, {
    runId: 'run-desk-2026-03-03T02:00:00Z',
    agent: 'desk',
    outcome: 'skipped',
    reasons: ['Skipped: run-desk-2 has not ended.'],
    startedAtMs: Date.UTC(2026, 2, 3, 2),
    endedAtMs: Date.UTC(2026, 2, 3, 2, 0, 1),
  });
  for (const [night, ...capabilities] of [
    [1, 'late-refunds', 'old-habit'],
    [2, 'late-refunds'],
  ] as const)
    await changeRegistry(store, 'desk', (registry) => addVersion(registry, version(night, ...capabilities)));
  await changeNights(store, 'desk', (before) => ({
    ...before,
    nights: [measured('run-desk-1', 0), measured('run-desk-2', 7)],
  }));
  writeFileSync(join(store.localPath(layout.history('desk')), 'run-desk-4-0123456789ab.json'), '{"schema');

  const page = join(folder, 'history.html');
  const { history, text } = await run('desk', page);
  expect(history.nights.map(({ night, runId, outcome }) => [night, runId, outcome])).toEqual([
    [null, 'run-desk-1', 'promoted'],
    [7, 'run-desk-2', 'promoted'],
    [null, 'run-desk-2026-03-03T02:00:00Z', 'skipped'],
  ]);
  expect(history.nights.map(({ reused }) => reused)).toEqual([
    [{ name: 'Old habit', from: 'run-desk-0' }],
    [{ name: 'Old habit', from: 'run-desk-0' }],
    [],
  ]);
  expect(text).toContain('99.2401 %, comparison 2 with base');
  expect(readFileSync(page, 'utf8')).toContain('99.2401 %, comparison 2 with base');
  expect(history.nights[1]).toMatchObject({ minutes: 6.5, version: 2, retired: ['old-habit'] });
  expect(history.active).toBe(2);
  expect(history.damaged.map(({ file }) => file)).toEqual([
    expect.stringContaining('run-desk-4-0123456789ab.json') as string,
  ]);
  expect(text).toContain('+36.8 [+32.9, +40.7]');
  expect(text).toContain('Skipped: run-desk-2 has not ended.');
  expect(text).toMatch(/damaged: .*run-desk-4-0123456789ab\.json/);

  const html = readFileSync(page, 'utf8');
  expect(html).toContain('Late refunds &lt;script&gt;');
  expect(html).not.toContain('<script');
  expect(html.match(/<svg/g)).toHaveLength(4);
});

test('retired is what the version that was replaced had, not the one with the number before', async () => {
  const agent = 'rolled-back';
  const promote = (night: number, ...capabilities: string[]) =>
    changeRegistry(store, agent, (registry) => addVersion(registry, version(night, ...capabilities)));
  await promote(1, 'late-refunds', 'old-habit');
  await promote(2, 'late-refunds', 'old-habit', 'bad-idea');
  await changeRegistry(store, agent, (registry) => activateVersion(registry, 1));
  await promote(3, 'late-refunds');
  await changeRegistry(store, agent, (registry) => activateVersion(registry, null));
  await promote(4, 'new-thing');
  const against = (night: number, rival: number | null) => {
    const { figures } = record(night);
    return record(night, { agent, figures: { ...figures!, judged: { ...figures!.judged!, against: rival } } });
  };
  for (const one of [against(1, null), against(2, 1), against(3, 1), against(4, null)])
    await putJson(store, layout.history(agent), `${one.runId}.json`, one);
  const retired = async () => (await run(agent)).history.nights.map((night) => night.retired);
  expect(await retired()).toEqual([[], [], ['old-habit'], []]);
});

test('an agent without a run, and what is no name, are refused', async () => {
  await expect(run('nobody')).rejects.toMatchObject({ type: 'History.Empty', exitCode: 2 });
  await expect(run('../desk')).rejects.toMatchObject({ exitCode: 2 });
});

test.each([
  ['a folder that is not there', () => join(folder, 'none', 'history.html'), 'its folder is not there'],
  ['a folder', () => folder, 'it is a folder'],
])('a page cannot be written to %s: a sentence, and wrong input', async (_, path, problem) => {
  await putJson(store, layout.history('desk'), 'run-desk-1.json', record(1));
  await expect(run('desk', path())).rejects.toMatchObject({ message: expect.stringContaining(problem), exitCode: 2 });
});
