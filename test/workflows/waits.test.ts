// integration: what makes a run wait, on a real Temporal server, with fakes of the activities.
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { childWorkflowId, MESSAGES, SEARCH_ATTRIBUTES } from '../../contracts/names';
import { artifact, fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

type AnyActivity = (input: never) => Promise<unknown>;

/** Lets an activity fail once, before it does what it does. */
function failOnce<A extends AnyActivity>(activity: A | undefined, type: string): A {
  let failed = false;
  return (async (input: never) => {
    if (failed) return activity!(input);
    failed = true;
    throw ApplicationFailure.nonRetryable(`${type} in a test\nwith a second line`, type);
  }) as A;
}

/** What an activity does that runs until somebody stops it. */
function untilCancelled(): Promise<never> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 100);
  return context.cancelled.finally(() => clearInterval(beat));
}

test('every stage waits for a person after a failure, and goes on after an answer', async () => {
  const { activities } = fakeActivities();
  const { orchestration, sandbox } = activities;
  orchestration.prepareRun = failOnce(orchestration.prepareRun, 'Analyst.Unauthorised');
  sandbox.collectTrajectories = failOnce(sandbox.collectTrajectories, 'Model.Refused');
  sandbox.routeTasks = failOnce(sandbox.routeTasks, 'Environment.Failed');
  sandbox.rollOutArm = failOnce(sandbox.rollOutArm, 'Model.Refused');
  orchestration.compareArms = failOnce(orchestration.compareArms, 'Evaluate.Unpaired');
  orchestration.promoteAdapters = failOnce(orchestration.promoteAdapters, 'Store.Corrupt');
  orchestration.renderReport = failOnce(orchestration.renderReport, 'Store.Corrupt');
  await withWorkers(temporal, activities, async () => {
    const { handle, runId, result, progress, answer } = await startRun(temporal);
    const seen: string[] = [];
    for (const key of ['prepare', 'collect', 'evaluate', 'evaluate', 'evaluate', 'promote', 'report']) {
      const { waits, waitingFor } = await until(progress, (p) => p.waitingFor !== null);
      expect(waits.map((w) => w.key)).toEqual([key]);
      // The lines of the failure, then the remedy, with the command that answers it.
      expect(waitingFor).toContain(`whet retry ${runId}`);
      expect(waitingFor).toMatch(/^\w+: \S+: \S+ in a test\nwith a second line\nWhat to do: [^\n]+$/);
      const { searchAttributes } = await until(
        () => handle.describe(),
        (d) => (d.searchAttributes[SEARCH_ATTRIBUTES.waiting] as string[] | undefined)?.[0] === waits[0]?.who,
      );
      seen.push(`${key}:${String((searchAttributes[SEARCH_ATTRIBUTES.waiting] as string[])[0])}`);
      await answer({ answer: 'retry' });
    }
    expect((await result()).verdict).toBe('promoted');
    expect(seen.slice(0, 4)).toEqual(['prepare:operator', 'collect:operator', 'evaluate:operator', 'evaluate:owner']);
    expect((await handle.describe()).searchAttributes[SEARCH_ATTRIBUTES.waiting]).toEqual(['']);
    await keepHistories(temporal, runId, 'waits-in-every-stage', ['improvementRun', 'sharpenCapability']);
  });
});

test('a wrong agent.yaml ends the run, because nothing was paid yet', async () => {
  const { activities } = fakeActivities();
  activities.orchestration.prepareRun = failOnce(activities.orchestration.prepareRun, 'Spec.Invalid');
  await withWorkers(temporal, activities, async () => {
    const { result } = await startRun(temporal);
    await expect(result()).rejects.toMatchObject({ cause: { cause: { type: 'Spec.Invalid' } } });
  });
});

test('a failure that nobody can cure waits all the same once something was paid', async () => {
  const { activities } = fakeActivities();
  activities.sandbox.rollOutArm = failOnce(activities.sandbox.rollOutArm, 'Spec.Invalid');
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor?.includes('Spec.Invalid') === true);
    await answer({ answer: 'retry', key: 'evaluate' });
    expect((await result()).verdict).toBe('promoted');
  });
});

test('children that were terminated make the run wait, and start again', async () => {
  const { activities } = fakeActivities({ kept: ['a', 'b'] });
  const { discoverCandidates } = activities.llm;
  const { trainAdapter } = activities.jobs;
  let discovers = 0;
  let trains = 0;
  activities.llm.discoverCandidates = (input) => (discovers++ === 0 ? untilCancelled() : discoverCandidates!(input));
  activities.jobs.trainAdapter = async (input) => {
    if (input.job !== 'b' || trains++ > 0) return trainAdapter!(input);
    await temporal.client.workflow.getHandle(childWorkflowId.sharpen(input.context.runId, 'b')).terminate('by mistake');
    return trainAdapter!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer, runId } = await startRun(temporal);
    await until(
      async () => Promise.resolve(discovers),
      (n) => n === 1,
    );
    await temporal.client.workflow.getHandle(childWorkflowId.identify(runId)).terminate('by mistake');
    await until(progress, (p) => p.waitingFor?.startsWith('identify: ') === true);
    expect(await answer({ answer: 'retry' })).toEqual({ answered: ['identify'], changed: [] });
    const { waitingFor } = await until(progress, (p) => p.waitingFor?.startsWith('b: ') === true);
    expect(waitingFor).toContain(childWorkflowId.sharpen(runId, 'b'));
    await answer({ answer: 'retry', key: 'b' });
    expect((await result()).verdict).toBe('promoted');
    expect(trains).toBe(2);
  });
});

test('no number of dead workers ends an activity', async () => {
  const { activities } = fakeActivities({ kept: ['b'] });
  const { prepareRun } = activities.orchestration;
  const { trainAdapter } = activities.jobs;
  const limits: unknown[] = [];
  const lookAt = async () => {
    const { workflowExecution } = Context.current().info;
    const { raw } = await temporal.client.workflow.getHandle(workflowExecution!.workflowId).describe();
    limits.push(...(raw.pendingActivities ?? []).map((a) => a.maximumAttempts ?? 0));
  };
  activities.orchestration.prepareRun = (input) => lookAt().then(() => prepareRun!(input));
  activities.jobs.trainAdapter = (input) => lookAt().then(() => trainAdapter!(input));
  await withWorkers(temporal, activities, async () => {
    await (await startRun(temporal)).result();
  });
  expect(limits).toEqual([0, 0]);
});

test('an activity that fails again and again is shown with its reason until it works', async () => {
  const { activities } = fakeActivities({ kept: [] });
  const { collectTrajectories } = activities.sandbox;
  let works = false;
  activities.sandbox.collectTrajectories = async (input) => {
    if (works) return collectTrajectories!(input);
    throw ApplicationFailure.create({
      message: 'connect ECONNREFUSED\n| 127.0.0.1:8300',
      type: 'Model.Unreachable',
      nextRetryDelay: '10ms',
    });
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await startRun(temporal);
    const shown = await until(progress, (p) => (p.failing ?? []).length > 0);
    const collect = shown.stages.find(({ name }) => name === 'collect');
    expect(collect?.detail).toMatch(
      /^collectTrajectories has failed at least \d+ times since .* UTC: Model\.Unreachable: connect ECONNREFUSED \| 127/,
    );
    await until(
      () => handle.describe(),
      (d) => (d.searchAttributes[SEARCH_ATTRIBUTES.waiting] as string[])[0] === 'repeated-failure',
    );
    works = true;
    await result();
    expect((await progress()).failing).toEqual([]);
  });
});

test('an environment edited by hand is tried again after a failure, although an earlier one was accepted', async () => {
  const { activities } = fakeActivities({ kept: ['b'] });
  const { validateEnvironment, calibrateEnvironment } = activities.sandbox;
  const { trainAdapter } = activities.jobs;
  const trainedIn: string[] = [];
  let jail = true;
  activities.sandbox.validateEnvironment = async (input) => {
    if (!jail) throw ApplicationFailure.nonRetryable('no jail', 'Sandbox.Unavailable');
    return validateEnvironment!(input);
  };
  activities.sandbox.calibrateEnvironment = async (input) => ({
    ...(await calibrateEnvironment!(input)),
    inBand: true,
  });
  activities.jobs.trainAdapter = async (input) => {
    trainedIn.push(input.environments[0]!.source.key);
    if (trainedIn.length === 1) throw ApplicationFailure.nonRetryable('the reward is NaN', 'Trainer.Diverged');
    return trainAdapter!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress, answer, runId } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor?.includes('NaN') === true);
    jail = false;
    await handle.signal(MESSAGES.editSignal, { capabilityId: 'b', source: artifact('by-hand-2.py') });
    await until(progress, (p) => p.waitingFor?.includes('no jail') === true);
    jail = true;
    await answer({ answer: 'retry', key: 'b' });
    expect((await result()).verdict).toBe('promoted');
    expect(trainedIn).toEqual(['b-1.py', 'by-hand-2.py']);
    await keepHistories(temporal, runId, 'edited-and-retried', ['sharpenCapability']);
  });
});

test('a mixed adapter that cannot be rolled out is left out, and the comparison says why', async () => {
  const { activities, calls } = fakeActivities({ mixedAdapter: true });
  const { rollOutArm } = activities.sandbox;
  const { compareArms } = activities.orchestration;
  const reasons: (string | undefined)[] = [];
  activities.sandbox.rollOutArm = async (input) => {
    if (input.kind === 'mixed') throw ApplicationFailure.nonRetryable('500 from the server', 'Model.Refused');
    return rollOutArm!(input);
  };
  activities.orchestration.compareArms = async (input) => {
    reasons.push(input.mixedFailure);
    return compareArms!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, runId } = await startRun(temporal);
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'mixed-left-out');
  });
  expect(reasons).toEqual(['Model.Refused: 500 from the server']);
  expect(calls).toContain('compareArms:base,a@abc,b@abc,routed');
});

test('a person may skip the mixed adapter while it trains', async () => {
  const { activities, calls } = fakeActivities({ mixedAdapter: true });
  const { trainAdapter } = activities.jobs;
  let training = false;
  activities.jobs.trainAdapter = async (input) => {
    if (input.job !== 'mixed') return trainAdapter!(input);
    training = true;
    return untilCancelled();
  };
  await withWorkers(temporal, activities, async () => {
    const { result, answer } = await startRun(temporal);
    await until(async () => Promise.resolve(training), Boolean);
    expect(await answer({ answer: 'skip', key: 'mixed' })).toMatchObject({ answered: ['mixed'] });
    expect((await result()).verdict).toBe('promoted');
  });
  expect(calls).toContain('compareArms:base,a@abc,b@abc,routed');
});

test('a cancelled run ends as cancelled, after its trainers have stopped', async () => {
  const { activities } = fakeActivities();
  const order: string[] = [];
  activities.jobs.trainAdapter = async ({ job }) => {
    order.push(`train:${job}`);
    return untilCancelled().finally(() => order.push(`stop:${job}`));
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress, runId } = await startRun(temporal);
    await until(
      async () => Promise.resolve(order.length),
      (n) => n === 2,
    );
    await handle.cancel();
    await expect(result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect([...order].sort()).toEqual(['stop:a', 'stop:b', 'train:a', 'train:b']);
    const { status, searchAttributes } = await handle.describe();
    expect([status.name, searchAttributes[SEARCH_ATTRIBUTES.verdict]]).toEqual(['CANCELLED', ['cancelled']]);
    expect((await progress()).stages.find(({ name }) => name === 'sharpen')?.status).toBe('cancelled');
    const child = await temporal.client.workflow.getHandle(childWorkflowId.sharpen(runId, 'a')).describe();
    expect(child.status.name).toBe('CANCELLED');
    await keepHistories(temporal, runId, 'cancelled', ['improvementRun', 'sharpenCapability']);
  });
});

test('a run that waits can be cancelled', async () => {
  const { activities } = fakeActivities({ rejectedAttempts: { b: 99 } });
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor !== null);
    await handle.cancel();
    await expect(result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect((await progress()).waitingFor).toBeNull();
  });
});
