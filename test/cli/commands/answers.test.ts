// integration: `whet retry`, `whet skip` and `whet approve` on a real Temporal server, with fakes of the activities.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { answerCommand, approveCommand } from '../../../cli/commands/answers';
import type { Context } from '../../../cli/context';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import type { RunContext } from '../../../contracts/messages/run-context';
import { fakeActivities } from '../../fakes/activities';
import { startRun, until } from '../../helpers/runs';
import { startTemporal, withWorkers } from '../../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

/** A context, and what the command prints with --json. */
function openContext() {
  const printed: unknown[] = [];
  const settings = readSettings({ TEMPORAL_ADDRESS: temporal.address });
  const out = { ...createOutput(true), result: (data: unknown) => void printed.push(data) };
  return { context: { settings, out } satisfies Context, printed };
}

test('retry without a name answers everything that waits, and says what', async () => {
  const { activities } = fakeActivities({ rejectedAttempts: { a: 2, b: 2 } });
  const { context, printed } = openContext();
  await withWorkers(temporal, activities, async () => {
    const { runId, result, progress } = await startRun(temporal);
    await until(progress, (p) => p.waits.length === 2);
    await answerCommand(context, 'retry', runId, undefined);
    expect(printed).toEqual([
      { runId, answer: 'retry', answered: expect.arrayContaining(['a', 'b']) as string[], changed: [] },
    ]);
    // The same answer again: whatever it waits for now, it is not what was answered.
    await result();
    await expect(answerCommand(context, 'retry', runId, undefined)).rejects.toMatchObject({ type: 'Run.Ended' });
  });
});

test('an answer that nothing waits for is refused with what waits', async () => {
  const { activities } = fakeActivities({ rejectedAttempts: { b: 99 } });
  const { context } = openContext();
  await withWorkers(temporal, activities, async () => {
    const { runId, result, progress } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor !== null);
    for (const answer of ['retry', 'skip'] as const)
      await expect(answerCommand(context, answer, runId, 'typo')).rejects.toMatchObject({
        exitCode: 2,
        type: 'Answer.NotWaiting',
        message: expect.stringContaining('These wait: b.') as string,
      });
    await expect(approveCommand(context, runId)).rejects.toMatchObject({ exitCode: 2, type: 'Approve.NotAsked' });
    await answerCommand(context, 'skip', runId, 'b');
    expect((await result()).verdict).toBe('promoted');
  });
});

test('a stage cannot be skipped, and a run that waits for nothing says so', async () => {
  const { activities } = fakeActivities({ approval: true });
  const { collectTrajectories } = activities.sandbox;
  let failed = false;
  activities.sandbox.collectTrajectories = async (input) => {
    if (failed) return collectTrajectories!(input);
    failed = true;
    throw ApplicationFailure.nonRetryable('no such model', 'Model.Refused');
  };
  const { context } = openContext();
  await withWorkers(temporal, activities, async () => {
    const { runId, result, progress } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor !== null);
    await expect(answerCommand(context, 'skip', runId, 'collect')).rejects.toMatchObject({
      exitCode: 2,
      type: 'Answer.NotSkippable',
    });
    await answerCommand(context, 'retry', runId, 'collect');
    await until(progress, (p) => p.waits[0]?.who === 'approval');
    await expect(answerCommand(context, 'retry', runId, undefined)).rejects.toMatchObject({
      exitCode: 2,
      type: 'Run.NotWaiting',
      message: expect.stringContaining(`whet approve ${runId}`) as string,
    });
    await approveCommand(context, runId);
    expect((await result()).verdict).toBe('promoted');
  });
});

test('retry --spec gives the changed spec to everything that comes after', async () => {
  const { activities } = fakeActivities({ kept: ['b'] });
  const specs: Record<string, string> = {};
  const note = (name: string, { spec }: RunContext) => void (specs[name] = spec.key);
  const { discoverCandidates, planLabels, synthesiseEnvironment } = activities.llm;
  const { rollOutArm } = activities.sandbox;
  let refused = 0;
  activities.llm.discoverCandidates = async (input) => {
    if (refused++ === 0) throw ApplicationFailure.nonRetryable('401', 'Analyst.Unauthorised');
    note('discover', input.context);
    return discoverCandidates!(input);
  };
  activities.llm.planLabels = async (input) => (note('plan', input.context), planLabels!(input));
  activities.llm.synthesiseEnvironment = async (input) => {
    note('synthesise', input.context);
    return synthesiseEnvironment!(input);
  };
  activities.sandbox.rollOutArm = async (input) => (note('rollOut', input.context), rollOutArm!(input));
  const { context, printed } = openContext();
  await withWorkers(temporal, activities, async () => {
    const { runId, result, progress } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor !== null);
    await answerCommand(context, 'retry', runId, undefined, { spec: 'agent.yaml' });
    expect(printed).toEqual([{ runId, answer: 'retry', answered: ['identify'], changed: ['analyst.baseUrl'] }]);
    await result();
  });
  const amended = 'amended-spec.json';
  expect(specs).toEqual({ discover: amended, plan: amended, synthesise: amended, rollOut: amended });
});

test('a second --spec reaches the stages that come after, too', async () => {
  const { activities } = fakeActivities({ kept: ['b'] });
  const { discoverCandidates, synthesiseEnvironment } = activities.llm;
  const { rollOutArm } = activities.sandbox;
  const refuse = () => ApplicationFailure.nonRetryable('401', 'Analyst.Unauthorised');
  let [refused, amended, rolledOutWith] = [0, 0, ''];
  activities.llm.discoverCandidates = async (input) => {
    if (refused++ === 0) throw refuse();
    return discoverCandidates!(input);
  };
  activities.llm.synthesiseEnvironment = async (input) => {
    if (refused++ === 2) throw refuse();
    return synthesiseEnvironment!(input);
  };
  activities.sandbox.rollOutArm = async (input) => {
    rolledOutWith = input.context.spec.key;
    return rollOutArm!(input);
  };
  activities.orchestration.amendSpec = async ({ context: { spec } }) => ({
    spec: { ...spec, key: `amended-${++amended}.json` },
    changed: ['analyst.baseUrl'],
    deadlines: { approvalMs: 3_600_000, holdMs: null },
  });
  const { context } = openContext();
  await withWorkers(temporal, activities, async () => {
    const { runId, result, progress } = await startRun(temporal);
    await until(progress, (p) => p.waits[0]?.key === 'identify');
    await answerCommand(context, 'retry', runId, undefined, { spec: 'agent.yaml' });
    await until(progress, (p) => p.waits[0]?.key === 'b');
    await answerCommand(context, 'retry', runId, 'b', { spec: 'agent.yaml' });
    await result();
  });
  expect(rolledOutWith).toBe('amended-2.json');
});

test('an agent.yaml with other changes is refused, and the run goes on waiting', async () => {
  const { activities } = fakeActivities({ rejectedAttempts: { b: 2 } });
  activities.orchestration.amendSpec = async () => {
    throw ApplicationFailure.nonRetryable('agent.yaml: seed: the run was started with 1', 'Spec.Invalid');
  };
  const { context } = openContext();
  await withWorkers(temporal, activities, async () => {
    const { runId, result, progress, answer } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor !== null);
    await expect(answerCommand(context, 'retry', runId, 'b', { spec: 'agent.yaml' })).rejects.toMatchObject({
      exitCode: 2,
      type: 'Spec.Invalid',
    });
    expect((await progress()).waits.map(({ key }) => key)).toEqual(['b']);
    await answer({ answer: 'retry' });
    expect((await result()).verdict).toBe('promoted');
  });
});
