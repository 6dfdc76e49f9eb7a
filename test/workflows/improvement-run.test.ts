// integration: the orchestration on a real Temporal server, with fakes of the activities.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { MESSAGES, SEARCH_ATTRIBUTES, TASK_QUEUES, WORKFLOWS, type ImprovementRunResult, type RunProgress } from '../../contracts';
import { fakeActivities, type FakeOptions } from '../helpers/fake-activities';
import { keepHistories } from '../helpers/histories';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

let count = 0;
async function start() {
  const runId = `run-desk-${++count}`;
  const handle = await temporal.client.workflow.start(WORKFLOWS.improvementRun, {
    workflowId: runId,
    taskQueue: TASK_QUEUES.orchestration,
    args: [{ runId, agent: 'desk', specPath: '/agent.yaml' }],
  });
  return { handle, runId, result: () => handle.result() as Promise<ImprovementRunResult>, progress: () => handle.query<RunProgress>(MESSAGES.progressQuery) };
}

async function until<T>(read: () => Promise<T>, good: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read();
    if (good(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function runToEnd(options: FakeOptions, record?: string) {
  const { activities, calls } = fakeActivities(options);
  return withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await start();
    const outcome = await result();
    if (record !== undefined) await keepHistories(temporal, handle.workflowId, record);
    return { outcome, calls, progress: await progress(), description: await handle.describe() };
  });
}

test('goes through the stages in the order of the paper and promotes', async () => {
  const { outcome, calls, progress, description } = await runToEnd({ rejectedAttempts: { b: 1 }, mixedAdapter: true }, 'promoted');
  expect(outcome).toMatchObject({ verdict: 'promoted', promotedVersion: 1 });
  expect(progress.stages.map((s) => s.status)).toEqual(Array(6).fill('done'));
  expect(progress.waitingFor).toBeNull();
  expect(calls).toContain('synthesise:b:2:with feedback');
  expect(calls.at(-3)).toBe('compareArms:base,a@abc,b@abc,routed,mixed');
  expect(calls.at(-1)).toBe('renderReport:promoted');
  expect(description.searchAttributes).toMatchObject({ [SEARCH_ATTRIBUTES.agent]: ['desk'], [SEARCH_ATTRIBUTES.verdict]: ['promoted'] });
});

test('labels run after run, until no verdict is open any more', async () => {
  const { outcome, calls } = await runToEnd({ labellingRuns: 3, chunks: 2 }, 'three-labelling-runs');
  expect(outcome.verdict).toBe('promoted');
  const identification = calls.filter((c) => /^(labelChunk|tally|contrast)/.test(c));
  expect(identification.filter((c) => c.startsWith('tally'))).toEqual(['tally:0', 'tally:1', 'tally:2']);
  expect(identification.filter((c) => c.startsWith('labelChunk'))).toHaveLength(6);
  expect(identification.at(-1)).toBe('contrast:60');
});

test('does not promote when the gate fails, and says so', async () => {
  const { outcome, calls, progress } = await runToEnd({ gatePassed: false });
  expect(outcome.verdict).toBe('not-promoted');
  expect(calls.some((c) => c.startsWith('promote'))).toBe(false);
  expect(progress.stages.find((s) => s.name === 'promote')).toMatchObject({ status: 'skipped', detail: 'gain 0.4' });
});

test('reports when nothing was kept', async () => {
  const { outcome, calls } = await runToEnd({ kept: [] }, 'nothing-kept');
  expect(outcome.verdict).toBe('nothing-to-sharpen');
  expect(calls.at(-1)).toBe('renderReport:nothing-to-sharpen');
});

test('trains the mixed adapter with as many rollouts as the others together', async () => {
  const { calls } = await runToEnd({ mixedAdapter: true });
  expect(calls).toContain('train:mixed:2');
  expect(calls).toContain('compareArms:base,a@abc,b@abc,routed,mixed');
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
    const { handle, result, progress, runId } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain(`whet skip ${runId} b`);
    expect(held.stages.find((s) => s.name === 'sharpen')?.status).toBe('paused');
    await handle.signal(MESSAGES.skipSignal, { capabilityId: 'b' });
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'held-and-skipped');
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

test('a refused analyst key pauses identification until retry', async () => {
  const { activities } = fakeActivities();
  let refused = 0;
  const { discoverCandidates } = activities.llm;
  activities.llm.discoverCandidates = async (input) => {
    if (refused++ === 0) throw ApplicationFailure.nonRetryable('401 from the endpoint', 'Analyst.Unauthorised');
    return discoverCandidates!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await start();
    const held = await until(progress, (p) => p.waitingFor !== null);
    expect(held.waitingFor).toContain('OPENAI_API_KEY');
    await handle.signal(MESSAGES.retrySignal, {});
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
