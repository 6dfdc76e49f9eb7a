// integration: attempts at an environment that an earlier run wrote, on a real Temporal server, with fake activities.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { envEditCommand } from '../../cli/commands/env';
import { createOutput } from '../../cli/output';
import { readSettings } from '../../cli/settings';
import { waitsOf } from '../../cli/view/waits';
import type { ReportInput } from '../../contracts/messages/run';
import { MESSAGES } from '../../contracts/names';
import { fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

test('a reused environment that is not valid today is written anew, and counts as no attempt', async () => {
  // Two attempts are allowed: one is out of band, and the one behind it is accepted.
  const { activities, calls } = fakeActivities({ kept: ['b'], rejectedAttempts: { b: 2 }, onRejected: 'skip' });
  const { synthesiseEnvironment } = activities.llm;
  const { validateEnvironment } = activities.sandbox;
  const { renderReport } = activities.orchestration;
  let reported: ReportInput | null = null;
  activities.llm.synthesiseEnvironment = async (input) => ({
    ...(await synthesiseEnvironment!(input)),
    ...(input.attempt === 1 && { reusedFrom: 'run-desk-before', promptTokens: 0, completionTokens: 0 }),
  });
  activities.sandbox.validateEnvironment = async (input) => ({
    ...(await validateEnvironment!(input)),
    ...(input.source.key.endsWith('-1.py') && { passed: false, problems: ['The tool `weigh` is gone.'] }),
  });
  activities.orchestration.renderReport = async (input) => {
    reported = input;
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result } = await startRun(temporal);
    expect((await result()).verdict).toBe('promoted');
  });
  expect(calls.filter((call) => call.startsWith('synthesise'))).toEqual([
    'synthesise:b:1',
    'synthesise:b:2:with feedback',
    'synthesise:b:3:with feedback',
  ]);
  const [sharpened] = (reported as unknown as ReportInput).sharpened;
  expect(sharpened!.attempts.map(({ reusedFrom, accepted, outcome }) => [reusedFrom, accepted, outcome])).toEqual([
    ['run-desk-before', false, 'invalid: The tool `weigh` is gone.'],
    [undefined, false, 'too hard: success 0.05'],
    [undefined, true, 'in band'],
  ]);
});

test.each([
  ['a model that the analyst does not know', { status: 404, code: 'model_not_found' }],
  ['a failure that lasts', { status: 500, code: null }],
  ['a failure that lasts, of TGI', { status: 424, code: null }],
])('%s skips nothing: a person corrects it', async (_, detail) => {
  const { activities } = fakeActivities({ kept: ['b'], onRejected: 'skip' });
  const { synthesiseEnvironment } = activities.llm;
  let isKnown = false;
  activities.llm.synthesiseEnvironment = async (input) => {
    if (isKnown) return synthesiseEnvironment!(input);
    throw ApplicationFailure.create({
      ...{ message: 'It failed.', type: 'Analyst.BadRequest', nonRetryable: true },
      details: [detail],
    });
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, progress, result } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor?.includes('It failed.') === true);
    isKnown = true;
    await handle.signal(MESSAGES.retrySignal, { capabilityId: 'b' });
    expect((await result()).verdict).toBe('promoted');
  });
});

test('where rejected environments are skipped, so is a capability that the analyst refuses to write one for', async () => {
  const { activities, calls } = fakeActivities({ kept: ['a', 'b'], onRejected: 'skip' });
  const { synthesiseEnvironment } = activities.llm;
  const { renderReport } = activities.orchestration;
  let reported: ReportInput | null = null;
  activities.llm.synthesiseEnvironment = async (input) => {
    if (input.capability.id !== 'b') return synthesiseEnvironment!(input);
    throw ApplicationFailure.create({
      ...{ message: 'It has no environment for "b".', type: 'Analyst.BadRequest', nonRetryable: true },
    });
  };
  activities.orchestration.renderReport = async (input) => {
    reported = input;
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result } = await startRun(temporal);
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, handle.workflowId, 'refused-question', ['sharpenCapability']);
  });
  expect(calls.filter((call) => call.startsWith('train'))).not.toContain('train:b');
  const skipped = (reported as unknown as ReportInput).sharpened.find(({ capability }) => capability.id === 'b')!;
  expect(skipped).toMatchObject({ status: 'skipped', attempts: [] });
  expect(skipped.reason).toBe('the analyst refused to write an environment: It has no environment for "b".');
});

test('before any environment was written, the wait offers a command with a file, and that command gives it', async () => {
  const { activities, calls } = fakeActivities({ kept: ['b'] });
  activities.llm.synthesiseEnvironment = () =>
    Promise.reject(ApplicationFailure.nonRetryable('It has no environment for "b".', 'Analyst.BadRequest'));
  const { calibrateEnvironment } = activities.sandbox;
  activities.sandbox.calibrateEnvironment = async (input) => ({
    ...(await calibrateEnvironment!(input)),
    inBand: true,
  });
  const folder = mkdtempSync(join(tmpdir(), 'whet-first-'));
  const settings = readSettings({ WHET_HOME: folder, TEMPORAL_ADDRESS: temporal.address });
  const context = { settings, out: { ...createOutput(true), result: () => undefined } };
  writeFileSync(join(folder, 'b.py'), '# by hand\n');
  await withWorkers(temporal, activities, async () => {
    const { result, progress, runId } = await startRun(temporal);
    const held = await until(progress, ({ waitingFor }) => waitingFor !== null);
    expect(waitsOf(runId, held).map(({ commands }) => commands)).toEqual([
      [`whet retry ${runId} b`, `whet skip ${runId} b`, `whet env edit ${runId} b b.py`],
    ]);
    await expect(envEditCommand(context, runId, 'b', undefined)).rejects.toMatchObject({
      message: expect.stringContaining(`whet env edit ${runId} b b.py`),
    });
    await expect(envEditCommand(context, runId, 'bb', join(folder, 'b.py'))).rejects.toMatchObject({ exitCode: 2 });
    await envEditCommand(context, runId, 'b', join(folder, 'b.py'));
    expect((await result()).verdict).toBe('promoted');
  });
  expect(calls).toContain('train:b:1');
  rmSync(folder, { recursive: true, force: true });
});
