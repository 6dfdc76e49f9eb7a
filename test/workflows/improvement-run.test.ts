// integration: the orchestration on a real Temporal server, with fakes of the activities.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { envEditCommand } from '../../cli/commands/env';
import type { Context } from '../../cli/context';
import { createOutput } from '../../cli/output';
import { readSettings } from '../../cli/settings';
import type { SynthesisInput } from '../../contracts/messages/sharpen-stage';
import { childWorkflowId, MESSAGES, SEARCH_ATTRIBUTES } from '../../contracts/names';
import { artifact, fakeActivities, type FakeOptions } from '../fakes/activities';
import { layout } from '../../store';
import { keepHistories } from '../helpers/histories';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const start = () => startRun(temporal);

async function runToEnd(options: FakeOptions, record?: { name: string; types: string[] }) {
  const { activities, calls } = fakeActivities(options);
  return withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await start();
    const outcome = await result();
    if (record !== undefined) await keepHistories(temporal, handle.workflowId, record.name, record.types);
    return { outcome, calls, progress: await progress(), description: await handle.describe() };
  });
}

test('goes through the stages in the order of the paper and promotes', async () => {
  const { outcome, calls, progress, description } = await runToEnd(
    { rejectedAttempts: { b: 1 }, mixedAdapter: true },
    { name: 'promoted', types: ['identifyCapabilities', 'improvementRun', 'labelChunks', 'sharpenCapability'] },
  );
  expect(outcome).toMatchObject({ verdict: 'promoted', promotedVersion: 1 });
  expect(progress.stages.map((s) => s.status)).toEqual(Array(6).fill('done'));
  expect(progress.waitingFor).toBeNull();
  expect(calls).toContain('synthesise:b:2:with feedback');
  expect(calls.at(-3)).toBe('compareArms:base,a@abc,b@abc,routed,mixed');
  expect(calls.at(-1)).toBe('renderReport:promoted');
  expect(description.searchAttributes).toMatchObject({
    [SEARCH_ATTRIBUTES.agent]: ['desk'],
    [SEARCH_ATTRIBUTES.verdict]: ['promoted'],
  });
});

test('labels run after run, until no verdict is open any more', async () => {
  const { outcome, calls } = await runToEnd(
    { labellingRuns: 3, chunks: 2 },
    { name: 'three-labelling-runs', types: ['identifyCapabilities'] },
  );
  expect(outcome.verdict).toBe('promoted');
  const identification = calls.filter((c) => /^(labelChunk|tally|contrast)/.test(c));
  expect(identification.filter((c) => c.startsWith('tally'))).toEqual(['tally:0', 'tally:1', 'tally:2']);
  expect(identification.filter((c) => c.startsWith('labelChunk'))).toHaveLength(6);
  expect(identification.at(-1)).toBe('contrast:60');
});

test('labels that were lost after they were asked are asked again without a person', async () => {
  const { activities, calls } = fakeActivities({ kept: [], chunks: 2 });
  const tally = activities.llm.tallyRun;
  let losses = 1;
  activities.llm.tallyRun = async (input) => {
    if (losses-- > 0) throw ApplicationFailure.nonRetryable('one label is gone', 'Identify.LabelsLost');
    return tally!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result } = await start();
    expect((await result()).verdict).toBe('nothing-to-sharpen');
  });
  expect(calls.filter((call) => call.startsWith('labelChunk'))).toHaveLength(4);
});

test('does not promote when the gate fails, and says so', async () => {
  const { outcome, calls, progress } = await runToEnd({ gatePassed: false });
  expect(outcome.verdict).toBe('not-promoted');
  expect(calls.some((c) => c.startsWith('promote'))).toBe(false);
  expect(progress.stages.find((s) => s.name === 'promote')).toMatchObject({ status: 'skipped', detail: 'gain 0.4' });
});

test('tells an analyst that named nothing from one whose capabilities were not kept', async () => {
  const { outcome, progress } = await runToEnd({ kept: [], candidates: 0 });
  expect(outcome.reasons).toEqual(['The analyst named no capability.']);
  expect(progress.stages.find(({ name }) => name === 'identify')?.detail).toBe('the analyst named no capability');
});

test('reports when nothing was kept', async () => {
  const { outcome, calls } = await runToEnd({ kept: [] }, { name: 'nothing-kept', types: ['improvementRun'] });
  expect(outcome.verdict).toBe('nothing-to-sharpen');
  expect(outcome.reasons).toEqual(['No capability was kept.']);
  expect(calls.at(-1)).toBe('renderReport:nothing-to-sharpen');
});

test('trains the mixed adapter with as many rollouts as the others together', async () => {
  const { calls } = await runToEnd({ mixedAdapter: true });
  expect(calls).toContain('train:mixed:2');
  expect(calls).toContain('compareArms:base,a@abc,b@abc,routed,mixed');
});

test('a mixed adapter that cannot be trained is left out, and the comparison says why', async () => {
  const { activities, calls } = fakeActivities({ mixedAdapter: true });
  const { trainAdapter } = activities.jobs;
  const { compareArms } = activities.orchestration;
  const reasons: (string | undefined)[] = [];
  activities.jobs.trainAdapter = async (input) => {
    if (input.job !== 'mixed') return trainAdapter!(input);
    throw ApplicationFailure.create({
      message: 'The trainer of mixed ended with code 66.\nA warning.\nThe policy has collapsed.',
      type: 'Trainer.Diverged',
      nonRetryable: true,
    });
  };
  activities.orchestration.compareArms = async (input) => {
    reasons.push(input.mixedFailure);
    return compareArms!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result } = await start();
    expect((await result()).verdict).toBe('promoted');
  });
  expect(reasons).toEqual([
    'Trainer.Diverged: The trainer of mixed ended with code 66. A warning. The policy has collapsed.',
  ]);
  expect(calls).toContain('compareArms:base,a@abc,b@abc,routed');
});

test('waits for approval where the owner wants it', async () => {
  const { activities, calls } = fakeActivities({ approval: true });
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain('whet approve');
    expect(calls.some((c) => c.startsWith('promote'))).toBe(false);
    await handle.executeUpdate(MESSAGES.approveUpdate);
    expect((await result()).verdict).toBe('promoted');
  });
});

test('a capability whose environments are all rejected waits for a person, who may skip it', async () => {
  const { activities } = fakeActivities({ rejectedAttempts: { b: 99 } });
  await withWorkers(temporal, activities, async () => {
    const { answer, result, progress, runId } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain(`whet skip ${runId} b`);
    expect(held.stages.find((s) => s.name === 'sharpen')?.status).toBe('paused');
    await answer({ answer: 'skip', key: 'b' });
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'held-and-skipped', ['improvementRun', 'sharpenCapability']);
  });
});

test('retry gives a rejected capability a second round of attempts', async () => {
  const { activities, calls } = fakeActivities({ rejectedAttempts: { b: 2 } });
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await start();
    await until(progress, (p) => p.waitingFor !== null);
    await handle.signal(MESSAGES.retrySignal, { capabilityId: 'b' });
    await result();
    expect(calls).toContain('synthesise:b:3:with feedback');
  });
});

test('the analyst learns what came of every attempt, and gets rollouts of each that can be played', async () => {
  const { activities, calls } = fakeActivities({ kept: ['b'] });
  const { prepareRun } = activities.orchestration;
  const { validateEnvironment, calibrateEnvironment } = activities.sandbox;
  const { synthesiseEnvironment } = activities.llm;
  const asked: SynthesisInput[] = [];
  const compared: (number | undefined)[] = [];
  const attemptOf = (source: { key: string }) => Number(/-(\d+)\.py$/.exec(source.key)?.[1]);
  activities.orchestration.prepareRun = async (input) => ({ ...(await prepareRun!(input)), maxAttempts: 5 });
  activities.llm.synthesiseEnvironment = async (input) => {
    asked.push(input);
    return synthesiseEnvironment!(input);
  };
  // Attempt 1 is no Python, 2 fails a check, 3 is out of band.
  activities.sandbox.validateEnvironment = async (input) => {
    const attempt = attemptOf(input.source);
    compared.push(input.before?.length);
    return { ...(await validateEnvironment!(input)), passed: attempt > 2, playable: attempt > 1, problems: ['bad'] };
  };
  activities.sandbox.calibrateEnvironment = async (input) => {
    const isLast = attemptOf(input.source) === 4;
    const rollouts = isLast ? {} : { rollouts: artifact('calibrated-rollouts.jsonl') };
    return { ...(await calibrateEnvironment!(input)), inBand: isLast, ...rollouts };
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result } = await start();
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, handle.workflowId, 'refused-and-shown', ['sharpenCapability']);
    const shown = asked.map(({ previous }) => previous?.rollouts?.key.replace(/.*\//, ''));
    expect(shown).toEqual([undefined, undefined, 'b-rollouts.jsonl', 'calibrated-rollouts.jsonl']);
    expect(asked.at(-1)!.history).toEqual([
      { attempt: 1, outcome: 'invalid: bad' },
      { attempt: 2, outcome: 'invalid: bad' },
      { attempt: 3, outcome: 'in band' },
    ]);
    expect(compared).toEqual([undefined, 1, 2, 3]);
    expect(calls.filter((call) => call.startsWith('rollOutRefused'))).toEqual(['rollOutRefused:b']);
  });
});

test('an environment edited by hand is the next attempt of a capability that waits', async () => {
  const { activities, calls } = fakeActivities({ rejectedAttempts: { b: 2 } });
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress, runId } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain(`whet env edit ${runId} b`);
    await handle.signal(MESSAGES.editSignal, { capabilityId: 'b', source: artifact('by-hand-3.py') });
    expect((await result()).verdict).toBe('promoted');
    expect(calls.filter((call) => call.startsWith('synthesise:b'))).toHaveLength(2);
    expect(calls).toContain('train:b:1');
  });
});

test('each training knows how many trainings of its run may share a trainer', async () => {
  const { activities } = fakeActivities({ kept: ['a', 'b', 'c'] });
  const { trainAdapter } = activities.jobs;
  const sideBySide: Record<string, number | undefined> = {};
  activities.jobs.trainAdapter = async (input) => {
    sideBySide[input.job] = input.sideBySide;
    return trainAdapter!(input);
  };
  await withWorkers(temporal, activities, async () => {
    await (await start()).result();
    expect(sideBySide).toMatchObject({ a: 3, b: 3, c: 3 });
    expect(sideBySide['mixed']).toBeUndefined();
  });
});

test('an environment edited by hand while its capability waits at its training is trained in instead', async () => {
  const { activities } = fakeActivities({ kept: ['b'] });
  const trainedIn: string[] = [];
  const { trainAdapter } = activities.jobs;
  activities.jobs.trainAdapter = async (input) => {
    const [environment] = input.environments;
    trainedIn.push(environment?.source.key ?? '');
    if (trainedIn.length === 1) throw ApplicationFailure.nonRetryable('the reward is NaN', 'Trainer.Diverged');
    return trainAdapter!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await start();
    await until(progress, (p) => p.waitingFor !== null);
    await handle.signal(MESSAGES.editSignal, { capabilityId: 'b', source: artifact('by-hand-2.py') });
    expect((await result()).verdict).toBe('promoted');
    expect(trainedIn).toEqual(['b-1.py', 'by-hand-2.py']);
  });
});

test('an environment edited by hand during the last attempt is tried without another wait', async () => {
  const { activities, calls } = fakeActivities({ kept: ['b'], rejectedAttempts: { b: 2 } });
  const { calibrateEnvironment } = activities.sandbox;
  activities.sandbox.calibrateEnvironment = async (input) => {
    if (input.source.key === 'b-2.py') {
      const child = childWorkflowId.sharpen(input.context.runId, 'b');
      await temporal.client.workflow
        .getHandle(child)
        .signal(MESSAGES.editSignal, { capabilityId: 'b', source: artifact('by-hand-3.py') });
    }
    return calibrateEnvironment!(input);
  };
  await withWorkers(temporal, activities, async () => {
    expect((await (await start()).result()).verdict).toBe('promoted');
    expect(calls.filter((call) => call.startsWith('synthesise:b'))).toHaveLength(2);
  });
});

test('an edited environment whose attempt meets a failure that a person can correct waits like any other', async () => {
  const { activities } = fakeActivities({ kept: ['b'], rejectedAttempts: { b: 2 } });
  const { validateEnvironment } = activities.sandbox;
  let broken = true;
  activities.sandbox.validateEnvironment = async (input) => {
    if (broken && input.source.key === 'by-hand-3.py')
      throw ApplicationFailure.nonRetryable('no jail', 'Sandbox.Unavailable');
    return validateEnvironment!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await start();
    await until(progress, (p) => p.waitingFor?.includes('No environment') === true);
    await handle.signal(MESSAGES.editSignal, { capabilityId: 'b', source: artifact('by-hand-3.py') });
    await until(progress, (p) => p.waitingFor?.includes('no jail') === true);
    broken = false;
    await handle.signal(MESSAGES.retrySignal, { capabilityId: 'b' });
    expect((await result()).verdict).toBe('promoted');
  });
});

test('`whet env edit` gives an environment only to a capability that waits for one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-edit-'));
  const before = process.cwd();
  const file = join(folder, 'by-hand.py');
  writeFileSync(file, '# by hand\n');
  const settings = readSettings({ WHET_HOME: folder, TEMPORAL_ADDRESS: temporal.address });
  const context: Context = { settings, out: { ...createOutput(true), result: () => undefined } };
  const { activities } = fakeActivities({ rejectedAttempts: { b: 2 } });
  const { calibrateEnvironment } = activities.sandbox;
  activities.sandbox.calibrateEnvironment = async (input) => ({
    ...(await calibrateEnvironment!(input)),
    ...(input.source.key.includes('by-hand') && { inBand: true }),
  });
  await withWorkers(temporal, activities, async () => {
    const { result, progress, runId } = await start();
    await until(progress, (p) => p.waitingFor !== null);
    const environments = join(folder, 'store', layout.environments(runId, 'b'));
    mkdirSync(environments, { recursive: true });
    writeFileSync(join(environments, 'attempt-2.py'), '# the last\n');
    const shown: string[] = [];
    const out = { ...context.out, result: (_: unknown, text: string) => void shown.push(text) };
    process.chdir(folder);
    await envEditCommand({ settings, out }, runId, 'b', undefined).finally(() => process.chdir(before));
    expect(shown[0]).toContain(`whet env check b.py --agent /agent.yaml, whet env edit ${runId} b b.py`);
    for (const other of ['a', 'bb', 'beta']) {
      await expect(envEditCommand(context, runId, other, file)).rejects.toMatchObject({
        exitCode: 2,
        message: expect.stringContaining(`capability ${other}`),
      });
    }
    await envEditCommand(context, runId, 'b', file);
    expect((await result()).verdict).toBe('promoted');
    rmSync(join(folder, 'b.py'));
    process.chdir(folder);
    await envEditCommand({ settings, out }, runId, 'b', undefined).finally(() => process.chdir(before));
    expect(shown[1]).toContain(`${runId} does not wait for an environment for b now, so it would not take it. `);
  });
  rmSync(folder, { recursive: true, force: true });
});

test('a refused analyst key pauses identification until retry', async () => {
  const { activities } = fakeActivities();
  let refused = 0;
  const { discoverCandidates } = activities.llm;
  activities.llm.discoverCandidates = async (input) => {
    if (refused++ === 0) throw ApplicationFailure.nonRetryable('401 from the endpoint', 'Analyst.Unauthorised');
    return discoverCandidates!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress, runId } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain('OPENAI_API_KEY');
    await handle.signal(MESSAGES.retrySignal, {});
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'identification-waits', ['identifyCapabilities']);
  });
});

test("the agent's environment failing in a validation makes the capability wait, and retry goes on", async () => {
  const { activities } = fakeActivities();
  const { validateEnvironment } = activities.sandbox;
  let works = false;
  activities.sandbox.validateEnvironment = async (input) => {
    if (!works) throw ApplicationFailure.nonRetryable('KeyError in reset', 'Environment.Failed');
    return validateEnvironment!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await start();
    const held = await until(progress, (p) => p.waitingFor?.includes('a: ') === true && p.waitingFor.includes('b: '));
    expect(held.waitingFor).toContain('Environment.Failed: KeyError in reset');
    works = true;
    for (const capabilityId of ['a', 'b']) await handle.signal(MESSAGES.retrySignal, { capabilityId });
    expect((await result()).verdict).toBe('promoted');
  });
});

test('too few outcomes to contrast ends the run with the sentence', async () => {
  const { activities } = fakeActivities();
  activities.sandbox.collectTrajectories = async () => {
    throw ApplicationFailure.nonRetryable('3 failures, 20 are needed', 'Collect.TooFewToContrast');
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result } = await start();
    await expect(result()).rejects.toMatchObject({ cause: { cause: { message: '3 failures, 20 are needed' } } });
    expect((await handle.describe()).searchAttributes[SEARCH_ATTRIBUTES.verdict]).toEqual(['failed']);
  });
});
