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
  const compared: unknown[] = [];
  activities.llm.synthesiseEnvironment = async (input) => ({
    ...(await synthesiseEnvironment!(input)),
    ...(input.attempt === 1 && { reusedFrom: 'run-desk-before', promptTokens: 0, completionTokens: 0 }),
  });
  activities.sandbox.validateEnvironment = async (input) => {
    compared.push([input.trajectories?.key, ...(input.before ?? []).map(({ calibration }) => calibration?.key)]);
    return {
      ...(await validateEnvironment!(input)),
      ...(input.source.key.endsWith('-1.py') && { passed: false, problems: ['The tool `weigh` is gone.'] }),
    };
  };
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
  const { collected } = reported as unknown as ReportInput;
  const { key } = collected.trajectories;
  const calibration = expect.stringContaining('calibration') as string;
  expect(compared).toEqual([[key], [key, undefined], [key, undefined, calibration]]);
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

/** The analyst's answer that an environment makes no sense. */
const declined = (reason: string) => ({
  ...{ source: null, declined: reason, promptTokens: 3, completionTokens: 4, model: 'analyst' },
});

test('where rejected environments are skipped, so is a capability that the analyst declines', async () => {
  const { activities, calls } = fakeActivities({ kept: ['a', 'b'], onRejected: 'skip' });
  const { synthesiseEnvironment } = activities.llm;
  const { renderReport } = activities.orchestration;
  let reported: ReportInput | null = null;
  activities.llm.synthesiseEnvironment = async (input) => {
    const answer = await synthesiseEnvironment!(input);
    return input.capability.id === 'b' ? declined('The analyst declined: no tool returns the code.') : answer;
  };
  activities.orchestration.renderReport = async (input) => {
    reported = input;
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result } = await startRun(temporal);
    expect((await result()).verdict).toBe('promoted');
  });
  expect(calls.filter((call) => call.startsWith('synthesise:b'))).toEqual(['synthesise:b:1']);
  const skipped = (reported as unknown as ReportInput).sharpened.find(({ capability }) => capability.id === 'b')!;
  expect(skipped).toMatchObject({
    status: 'skipped',
    declined: true,
    reason: 'The analyst declined: no tool returns the code.',
    attempts: [],
    tokens: [{ promptTokens: 3, completionTokens: 4 }],
  });
});

test('a run in which the analyst declines everything says so first', async () => {
  const { activities } = fakeActivities({ kept: ['a', 'b'], onRejected: 'skip' });
  activities.llm.synthesiseEnvironment = async ({ capability }) => declined(`No tool for ${capability.id}.`);
  await withWorkers(temporal, activities, async () => {
    const { result } = await startRun(temporal);
    const { verdict, reasons } = await result();
    expect(verdict).toBe('nothing-trained');
    expect(reasons[0]).toMatch(/^The analyst declined to write an environment for every capability that was kept/);
    expect(reasons.slice(1)).toEqual(['a has no adapter: No tool for a.', 'b has no adapter: No tool for b.']);
  });
});

test('a run that keeps nothing names what cannot be trained, and why', async () => {
  const { activities } = fakeActivities({ kept: [] });
  const { contrastCapabilities } = activities.llm;
  activities.llm.contrastCapabilities = async (input) => ({
    ...(await contrastCapabilities!(input)),
    untrainable: [{ id: 'code', reason: 'Not trainable: no tool returns the code.' }],
  });
  await withWorkers(temporal, activities, async () => {
    const { result } = await startRun(temporal);
    const { verdict, reasons } = await result();
    expect(verdict).toBe('nothing-to-sharpen');
    expect(reasons).toEqual(['No capability was kept.', 'code: Not trainable: no tool returns the code.']);
  });
});

test('else the run waits for the owner, whose retry asks the analyst again', async () => {
  const { activities } = fakeActivities({ kept: ['b'] });
  const { synthesiseEnvironment } = activities.llm;
  const asked: (number | undefined)[] = [];
  activities.llm.synthesiseEnvironment = async (input) => {
    asked.push(input.declines);
    return input.declines === undefined ? declined('No tool returns the code.') : synthesiseEnvironment!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, progress, result, runId } = await startRun(temporal);
    const held = await until(progress, ({ waitingFor }) => waitingFor !== null);
    expect(held.waitingFor).toContain('Analyst.Declined: No tool returns the code.');
    expect(waitsOf(runId, held).map(({ who }) => who)).toEqual(['owner']);
    await handle.signal(MESSAGES.retrySignal, { capabilityId: 'b' });
    expect((await result()).verdict).toBe('promoted');
  });
  expect(asked).toEqual([undefined, 1]);
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

test('an environment that is wrong to the second reader is not accepted, and the next attempt gets its labels', async () => {
  const { activities, calls } = fakeActivities({ kept: ['b'] });
  const { synthesiseEnvironment, readEnvironment } = activities.llm;
  const { calibrateEnvironment } = activities.sandbox;
  const { renderReport } = activities.orchestration;
  const readings: unknown[] = [];
  let reported: ReportInput | null = null;
  activities.llm.synthesiseEnvironment = async (input) => {
    readings.push(input.previous?.reading);
    return synthesiseEnvironment!(input);
  };
  activities.sandbox.calibrateEnvironment = async (input) => {
    const outcome = await calibrateEnvironment!(input);
    return { ...outcome, toRead: outcome.certificate };
  };
  activities.llm.readEnvironment = async (input) => ({
    ...(await readEnvironment!(input)),
    ...(input.attempt === 1 && { passed: false, outcome: 'wrong to a second reader: it pays for the opposite' }),
  });
  activities.orchestration.renderReport = async (input) => {
    reported = input;
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result } = await startRun(temporal);
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, handle.workflowId, 'second-reader', ['sharpenCapability']);
  });
  const [sharpened] = (reported as unknown as ReportInput).sharpened;
  expect(sharpened!.attempts.map(({ accepted, outcome }) => [accepted, outcome])).toEqual([
    [false, 'wrong to a second reader: it pays for the opposite'],
    [true, 'in band'],
  ]);
  expect(readings).toEqual([undefined, expect.objectContaining({ key: expect.stringContaining('second-reading') })]);
  expect(calls.filter((call) => call.startsWith('readEnvironment'))).toEqual([
    'readEnvironment:b:1',
    'readEnvironment:b:2',
  ]);
  expect(sharpened!.tokens.map(({ model }) => model)).toEqual([
    'analyst',
    'base',
    'analyst',
    'analyst',
    'base',
    'analyst',
  ]);
});
