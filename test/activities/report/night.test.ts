// tier: integration
import { renderReport } from '../../../activities/report';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportText } from '../../../cli/view/report-text';
import { evaluationSchema } from '../../../contracts/artifacts/evaluation';
import { type NightDecision, nightDecisionSchema, type Remaking } from '../../../contracts/artifacts/night';
import { type Report, reportSchema } from '../../../contracts/artifacts/report';
import { type RunRecord, runRecordSchema } from '../../../contracts/artifacts/run-record';
import { trainingManifestSchema } from '../../../contracts/artifacts/training';
import type { ReportInput } from '../../../contracts/messages/run';
import { changeNights, getJson, layout, LocalStore, putJson, readNights } from '../../../store';
import { sampleRun, sampleRunWithoutAdapters } from './sample-run';

let root: string;
let store: LocalStore;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'whet-night-report-'));
  store = new LocalStore(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const interval = { estimate: 0.2, low: 0.1, high: 0.3 };

/** The same run, as one that measured version 3 on 75 tasks first. */
async function withNight(
  input: ReportInput,
  outcome: NightDecision['outcome'],
  capabilities: NightDecision['capabilities'] = [],
  live?: number,
): Promise<ReportInput> {
  const decision: NightDecision = {
    ...{ night: 4, version: 3, outcome, sentence: 'Night 4 measured version 3 on 75 train tasks.' },
    ...{ reasons: [], seenBefore: [], undecided: [], tasks: 75, served: 0.7, base: 0.5, capabilities, adapters: [] },
    ...{ gain: interval, promotedWith: interval, change: interval, rateChange: null, detectableLoss: 0.2 },
    cost: { rollouts: 150, labels: 400, analystTokens: 9000 },
    identification: input.identified.identification,
    ...(live !== undefined && { live }),
  };
  const arm = (name: string): NonNullable<ReportInput['night']>['served'] => ({
    arm: name,
    kind: name === 'night-base' ? 'base' : 'incumbent',
    rollouts: { ...input.collected, episodes: 75 },
  });
  const night = {
    decision: await putJson(store, layout.night(input.context.runId), 'night-decision.json', decision),
    base: arm('night-base'),
    served: arm('night-served'),
  };
  return outcome === 'goes-on' ? { ...input, night } : { ...input, night, collected: night.served.rollouts };
}

async function render(input: ReportInput): Promise<{ page: string; report: Report; record: RunRecord }> {
  const { directory } = await renderReport(store, input, { scheduledAtMs: 0, mayAskAnalyst: false });
  const folder = layout.history(input.context.agent);
  const [name] = await store.list(folder);
  return {
    page: readFileSync(join(directory, 'report.html'), 'utf8'),
    report: reportSchema.parse(JSON.parse(readFileSync(join(directory, 'report.json'), 'utf8'))),
    record: runRecordSchema.parse(JSON.parse(String(await store.getNamed(`${folder}/${name}`)))),
  };
}

test('a night that ends counts the rollouts of both arms, and no collection beside them', async () => {
  const input = await sampleRunWithoutAdapters(store);
  const { record, page } = await render(await withNight({ ...input, verdict: 'nothing-new' }, 'nothing-new'));
  expect(record.figures?.spend).toMatchObject({ rollouts: 150, trainingRollouts: 0 });
  expect(page).toContain('150 rollouts: base and version 3 on 75 train tasks');
  expect(page).not.toContain('<dt>Collected</dt>');
});

test('a night that ends tells the live traffic apart, which the identification saw and nobody played', async () => {
  const input = await withNight(
    { ...(await sampleRunWithoutAdapters(store)), verdict: 'nothing-new' },
    'nothing-new',
    [],
    5,
  );
  const learned = { ...input.collected, episodes: 80, live: 5 };
  learned.trajectories = await putJson(store, layout.night(input.context.runId), 'served-and-live.json', {});
  const { record, page, report } = await render({
    ...{ ...input, collected: learned },
    night: { ...input.night!, learned },
  });
  expect(report.collect).toMatchObject({ episodes: 80, live: 5, tasks: 75, trials: 1 });
  expect(report.night!.live).toBe(5);
  expect(record.figures?.spend.rollouts).toBe(150);
  expect(page).toContain('identified with 5 conversations that the version answered');
  expect(report.artifacts.map(({ role }) => role)).toContain('the same, with the live traffic that it answered');
});

test('a night that goes on counts both arms beside what it collected and evaluated', async () => {
  const input = await sampleRun(store);
  const before = (await render(input)).record.figures!.spend;
  rmSync(store.localPath(layout.history(input.context.agent)), { recursive: true });
  const { record, page, report } = await render(await withNight(input, 'goes-on'));
  const { rollouts, trainingRollouts } = before;
  expect(record.figures?.spend).toMatchObject({ rollouts: rollouts + 150, trainingRollouts });
  expect(page).toContain('150 rollouts: base and version 3 on 75 train tasks');
  expect(page).toContain('<dt>Collected</dt>');
  expect(reportText(report)).toContain('Night 4 measured version 3');
});

test('what is new in a night that goes on is so for the version that was measured, not for base', async () => {
  const input = await sampleRun(store);
  const { candidates } = (await render(input)).report.identification;
  rmSync(store.localPath(layout.history(input.context.agent)), { recursive: true });
  const [first, second] = [candidates[0]!, candidates[1]!];
  const { record } = await render(
    await withNight(input, 'goes-on', [
      { id: first.id, state: 'drifting', inVersion: true },
      { id: second.id, state: 'new', inVersion: false },
    ]),
  );
  expect(record.figures).toMatchObject({
    new: [{ id: second.id, name: second.name }],
    recurring: [],
    fixed: [],
    regressed: [],
    drifting: [{ id: first.id, name: first.name }],
  });
});

test.each([
  ['what is served', 0, true],
  ['one adapter more', 1, false],
])('a night that judged %s without an adapter keeps whether it judged that alone', async (_, fresh, alone) => {
  const input = await sampleRun(store);
  const { runId, agent } = input.context;
  const own = input.sharpened.flatMap(({ adapter }) => adapter ?? []);
  const tasks = { tasks: 40, passed: 10, gained: 0, lost: 30, gain: interval, confidence: 0.98 };
  const served = [...own.slice(fresh), { capabilityId: 'gone', sha256: 'f'.repeat(64) }];
  const adapters = served.map(({ capabilityId, sha256 }) => ({
    ...{ ...tasks, capabilityId, sha256, verdict: 'harms' as const },
  }));
  const reasons = [{ kind: 'harms' as const, capabilityId: 'gone', adapter: 'f'.repeat(64) }];
  await changeNights(store, agent, (before) => ({
    ...before,
    nights: [
      {
        ...{ runId, night: 4, version: 3, content: { environment: 'e', baseModel: 'b', options: 'o' } },
        ...{ outcome: 'goes-on', reasons, worked: false },
      },
    ],
  }));
  const night = await withNight(input, 'goes-on');
  const decision = { ...(await getJson(store, night.night!.decision, nightDecisionSchema)), reasons, adapters };
  const ref = await putJson(store, layout.night(runId), 'night-decision.json', decision);
  await render({ ...night, mixed: null, verdict: 'not-promoted', night: { ...night.night!, decision: ref } });
  expect((await readNights(store, agent)).nights[0]).toMatchObject({ worked: true, triedAlone: alone });
});

test('an adapter of an earlier run is named with it, and its training is not counted again', async () => {
  const input = await sampleRun(store);
  const first = input.sharpened.find(({ adapter }) => adapter !== null)!;
  const spent = (await render(input)).record.figures!;
  expect(spent.reused).toEqual([]);
  rmSync(store.localPath(layout.history(input.context.agent)), { recursive: true });
  first.adapter!.reusedFrom = 'run-last-week';
  const { record, page, report } = await render(input);
  const { capability, adapter } = first;
  expect(record.figures?.reused).toEqual([{ id: capability.id, name: expect.any(String), from: 'run-last-week' }]);
  const { rollouts } = adapter!;
  expect(rollouts).toBeGreaterThan(0);
  expect(record.figures?.spend.trainingRollouts).toBe(spent.spend.trainingRollouts - rollouts);
  const { completionTokens, watch } = await getJson(store, adapter!.manifest, trainingManifestSchema);
  const own = completionTokens + (watch?.completionTokens ?? 0);
  expect(record.figures?.spend.modelTokens).toBe(spent.spend.modelTokens - own);
  expect(page).toContain('Adapters of earlier runs');
  expect(page).toContain('(run-last-week)');
  expect(reportText(report)).toContain(`adapters of earlier runs: ${capability.id} (run-last-week)`);
});

test('a capability that was skipped is said with its reason, apart from those that were found', async () => {
  const input = await sampleRun(store);
  const first = input.sharpened.find(({ adapter }) => adapter !== null)!;
  Object.assign(first, { status: 'skipped', reason: 'no environment passed', adapter: null });
  const { report } = await render(input);
  expect(reportText(report)).toMatch(/^capabilities found lacking: /m);
  const said = `  without an adapter: ${first.capability.id}, skipped: no environment passed`;
  expect(reportText(report).split('\n')).toContain(said);
});

test('the text says why the interval of the gate is another one than that of the table', async () => {
  const { report } = await render(await sampleRun(store));
  const { judged, confidence, ...evaluation } = report.evaluation!;
  const text = (strict: number) =>
    reportText({ ...report, evaluation: { ...evaluation, confidence, judged: { ...judged, confidence: strict } } });
  expect(text(0.96956)).toContain('The gate judges the same gain at 96.956 %');
  expect(text(confidence)).not.toContain('The gate judges the same gain');
});

test('the page says so too, beside the reasons of the gate', async () => {
  const page = async (strict: number) => {
    const input = await sampleRun(store);
    const { judged, ...evaluation } = await getJson(store, input.comparison!.evaluation, evaluationSchema);
    const stricter = { ...evaluation, judged: { ...judged, confidence: strict } };
    const ref = await putJson(store, layout.evaluation(input.context.runId), 'evaluation.json', stricter);
    return (await render({ ...input, comparison: { ...input.comparison!, evaluation: ref } })).page;
  };
  const words = /The gate judges the same gain at 96\.956.%, so its interval is wider than that of the table \(95.%\)/;
  expect((await page(0.96956)).replaceAll(/\s+/g, ' ')).toMatch(words);
  expect(await page(0.95)).not.toContain('The gate judges the same gain');
});

test('what a night began beside stands in its report and its history', async () => {
  const beside = 'It began beside: run-1 fails again and again.';
  const { report, record } = await render({ ...(await sampleRun(store)), beside });
  expect(report.notes).toContain(beside);
  expect(record.reasons.at(-1)).toBe(beside);
});

test('what a changed base model was expected to cost is data, and a note on the page', async () => {
  const input = await sampleRun(store);
  const remaking: Remaking = {
    ...{ sentence: 'The base model has changed: it takes 1,400 rollouts.', version: 1, adapters: 2, calibrations: 2 },
    ...{ environments: 2, unknown: 0, calibrationRollouts: 1400, trainingRollouts: 0, trainingTokens: 0 },
    ...{ trainingMinutes: 0, identification: null },
  };
  const plan = await putJson(store, layout.night(input.context.runId), 'night-plan.json', {
    ...{ night: 0, active: 1, measures: false, why: 'no', seeds: [] },
    content: { environment: 'e', baseModel: 'b', options: 'o' },
    ...{ invalid: { environments: 0, calibrations: 2, adapters: 2 }, remaking },
  });
  const { page, report } = await render({ ...input, plan });
  expect(report.remaking).toEqual(remaking);
  expect(page).toContain(`Expected before it was spent: ${remaking.sentence}`);
  expect(report.artifacts.map(({ role }) => role)).toContain('plan of the night');
});
