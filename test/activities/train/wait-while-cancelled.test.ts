// integration: what an attempt of a training asks a real Temporal server, without any worker.
import type { WorkflowExecutionDescription, WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { MockActivityEnvironment, type TestWorkflowEnvironment } from '@temporalio/testing';
import { isUnwanted, waitWhileCancelled } from '../../../activities/train/wait-while-cancelled';
import { repairWorkflowId, TASK_QUEUES, WORKFLOWS } from '../../../contracts/names';
import { startRun } from '../../helpers/runs';
import { startTemporal } from '../../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

/** What an attempt of this workflow does first: it begins, or it waits for its cancellation. */
async function attemptOf(
  runId: string,
  { workflowId, firstExecutionRunId }: WorkflowHandleWithFirstExecutionRunId,
  workflowType: string,
): Promise<'begins' | 'waits'> {
  const info = { workflowType, workflowExecution: { workflowId, runId: firstExecutionRunId } };
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error('waits')) };
  const waiting = () => waitWhileCancelled(runId, clock, new AbortController().signal);
  return new MockActivityEnvironment(info, { client: temporal.client }).run(() =>
    waiting().then(
      () => 'begins' as const,
      () => 'waits' as const,
    ),
  );
}

test('no training begins for a run that is being cancelled or has ended', async () => {
  // No worker is there, so the workflow does not hear of its cancellation.
  const { handle, runId } = await startRun(temporal);
  const attempt = () => attemptOf(runId, handle, WORKFLOWS.improvementRun);
  expect(await attempt()).toBe('begins');
  await handle.cancel();
  expect(await attempt()).toBe('waits');
  await handle.terminate();
  expect(await attempt()).toBe('waits');
});

test('a repair trains for a run that has ended, until it is cancelled itself', async () => {
  const { handle, runId } = await startRun(temporal);
  await handle.terminate();
  const repair = await temporal.client.workflow.start(WORKFLOWS.repairArtifacts, {
    workflowId: repairWorkflowId(runId),
    taskQueue: TASK_QUEUES.orchestration,
    args: [{ steps: [] }],
  });
  const attempt = () => attemptOf(runId, repair, WORKFLOWS.repairArtifacts);
  expect(await attempt()).toBe('begins');
  await repair.cancel();
  expect(await attempt()).toBe('waits');
});

const described = (name: string, raw: object = {}) => ({ status: { name }, raw }) as WorkflowExecutionDescription;

test.each([
  ['an open run', described('RUNNING', { pendingActivities: [{ activityId: '1', state: 2 }] }), false],
  ['a paused run', described('PAUSED'), false],
  ['a terminated run', described('TERMINATED'), true],
  ['a run with a cancel request', described('RUNNING', { workflowExtendedInfo: { cancelRequested: true } }), true],
  ['a cancelled activity', described('RUNNING', { pendingActivities: [{ activityId: '1', state: 3 }] }), true],
  ['another one that is', described('RUNNING', { pendingActivities: [{ activityId: '2', state: 3 }] }), false],
])('%s', (_, description, unwanted) => {
  expect(isUnwanted(description, '1')).toBe(unwanted);
});
