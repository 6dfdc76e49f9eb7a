// integration: the trial of a trainer beside the first stage, on a real Temporal server, with fakes of the activities.
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { MESSAGES } from '../../contracts/names';
import { fakeActivities, rollouts, trial } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

/** What an activity does that runs until somebody stops it. */
function untilCancelled(): Promise<never> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 100);
  return context.cancelled.finally(() => clearInterval(beat));
}

/** A run whose first identification is noted, so that tests see whether the analyst was asked. */
function runWithAnalyst() {
  const { activities, calls } = fakeActivities();
  const { discoverCandidates } = activities.llm;
  activities.llm.discoverCandidates = async (input) => {
    calls.push('analyst');
    return discoverCandidates!(input);
  };
  return { activities, calls };
}

const missingImage = () =>
  ApplicationFailure.nonRetryable('The image could not be pulled: absent:1', 'Trainer.CannotStart');

test('a trial that fails waits before the analyst is asked, and goes on after a retry', async () => {
  const { activities, calls } = runWithAnalyst();
  let trials = 0;
  activities.jobs.tryTraining = async () => {
    trials += 1;
    if (trials === 1) throw missingImage();
    return trial;
  };
  await withWorkers(temporal, activities, async () => {
    const { runId, result, progress, answer } = await startRun(temporal);
    const { waits } = await until(progress, ({ waits: w, stages }) => w.length > 0 && !!stages[0]?.detail);
    expect(waits).toMatchObject([{ key: 'trial', who: 'cluster' }]);
    expect(waits[0]?.reason).toContain('Trainer.CannotStart: The image could not be pulled: absent:1');
    expect(waits[0]?.reason).toContain(`whet retry ${runId} trial, or whet skip ${runId} trial`);
    // The first stage goes on to its end, and identification does not begin.
    await until(progress, ({ stages }) => stages[0]?.status === 'done');
    expect(calls).not.toContain('analyst');
    expect(await answer({ answer: 'retry' })).toEqual({ answered: ['trial'], changed: [] });
    expect((await result()).verdict).toBe('promoted');
    expect(trials).toBe(2);
    await keepHistories(temporal, runId, 'trial-waits');
  });
});

test('what a trial waits for stays shown when the first stage has ended', async () => {
  const { activities, calls } = runWithAnalyst();
  let admit = (): void => undefined;
  const admitted = new Promise<void>((resolve) => (admit = resolve));
  activities.jobs.tryTraining = async () => {
    const { client, info } = Context.current();
    const status = { key: 'trial', text: 'Queued, queue gpus', waitingFor: null };
    await client.workflow.getHandle(info.workflowExecution!.workflowId).signal(MESSAGES.statusSignal, status);
    const beat = setInterval(() => Context.current().heartbeat(), 100);
    await admitted;
    clearInterval(beat);
    return trial;
  };
  const shown = new Promise<void>((resolve) => {
    activities.sandbox.collectTrajectories = async () => {
      await shownNow();
      resolve();
      return rollouts;
    };
  });
  let run: Awaited<ReturnType<typeof startRun>> | null = null;
  const shownNow = async (): Promise<unknown> =>
    until(
      async () => (run === null ? null : run.progress()),
      (p) => p?.stages[0]?.detail.includes('trial: Queued, queue gpus') === true,
    );
  await withWorkers(temporal, activities, async () => {
    run = await startRun(temporal);
    await shown;
    const { stages } = await until(run.progress, (p) => p.stages[1]?.status === 'running');
    expect(stages[0]?.status).toBe('done');
    expect(stages[1]?.detail).toBe('trial: Queued, queue gpus');
    expect(calls).not.toContain('analyst');
    admit();
    expect((await run.result()).verdict).toBe('promoted');
  });
});

test('a trial may be skipped while it runs: its trainer is stopped, and the run goes on', async () => {
  const { activities } = fakeActivities();
  let stopped = false;
  activities.jobs.tryTraining = () => untilCancelled().finally(() => (stopped = true));
  await withWorkers(temporal, activities, async () => {
    const { runId, result, progress, answer } = await startRun(temporal);
    await until(progress, ({ stages }) => stages[1]?.status === 'running');
    expect(await answer({ answer: 'skip', key: 'trial' })).toEqual({ answered: ['trial'], changed: [] });
    expect((await result()).verdict).toBe('promoted');
    expect(stopped).toBe(true);
    await keepHistories(temporal, runId, 'trial-skipped');
  });
});

test('a trial that failed may be skipped', async () => {
  const { activities } = fakeActivities();
  activities.jobs.tryTraining = async () => {
    throw missingImage();
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor !== null);
    await answer({ answer: 'skip', key: 'trial' });
    expect((await result()).verdict).toBe('promoted');
  });
});

test('a run that ends in its first stage stops the trial before', async () => {
  const { activities } = fakeActivities();
  let stopped = false;
  let begun = (): void => undefined;
  const running = new Promise<void>((resolve) => (begun = resolve));
  activities.jobs.tryTraining = () => {
    begun();
    return untilCancelled().finally(() => (stopped = true));
  };
  activities.sandbox.collectTrajectories = async () => {
    await running;
    throw ApplicationFailure.nonRetryable('3 successes', 'Collect.TooFewToContrast');
  };
  await withWorkers(temporal, activities, async () => {
    const { runId, result } = await startRun(temporal);
    await expect(result()).rejects.toMatchObject({ cause: { cause: { type: 'Collect.TooFewToContrast' } } });
    expect(stopped).toBe(true);
    await keepHistories(temporal, runId, 'trial-abandoned');
  });
});

test('a cancelled run ends when its trial has stopped', async () => {
  const { activities } = fakeActivities();
  let stopped = false;
  activities.jobs.tryTraining = () => untilCancelled().finally(() => (stopped = true));
  await withWorkers(temporal, activities, async () => {
    const { handle, result, progress } = await startRun(temporal);
    await until(progress, ({ stages }) => stages[1]?.status === 'running');
    await handle.cancel();
    await expect(result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect(stopped).toBe(true);
  });
});
