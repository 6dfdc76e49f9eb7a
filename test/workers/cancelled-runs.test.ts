// integration: what a worker's interceptors ask a real Temporal server, without any worker.
import { MockActivityEnvironment, type TestWorkflowEnvironment } from '@temporalio/testing';
import { childWorkflowId } from '../../contracts/names';
import { cancelledRunInterceptor } from '../../workers/cancelled-runs';
import { isReported } from '../../workers/repeated-failures';
import { startRun } from '../helpers/runs';
import { startTemporal } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

test('no training begins for a run that is being cancelled or has ended', async () => {
  // No worker is there, so the workflow does not hear of its cancellation.
  const { handle, runId } = await startRun(temporal);
  const begin = () => {
    const workflowExecution = { workflowId: childWorkflowId.sharpen(runId, 'b'), runId: 'unused' };
    const options = { client: temporal.client, interceptors: [cancelledRunInterceptor] };
    return new MockActivityEnvironment({ workflowExecution }, options).run(async () => Promise.resolve('begun'));
  };
  expect(await begin()).toBe('begun');
  await handle.cancel();
  await expect(begin()).rejects.toThrow('The run was cancelled');
  await handle.terminate();
  await expect(begin()).rejects.toThrow('The run was cancelled');
});

test('an activity that fails again and again is reported ever more rarely', () => {
  const reported = Array.from({ length: 200 }, (_, i) => i + 1).filter(isReported);
  expect(reported).toEqual([8, 16, 32, 64, 128, 192]);
});
