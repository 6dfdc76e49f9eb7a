// integration: fairness between agents on a real Temporal server, with fakes of the activities and one worker that does
// one thing at a time.
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import type { LlmActivities } from '../../contracts/messages/activities';
import { artifact } from '../fakes/activities';
import { until } from '../helpers/runs';
import { startTemporal } from '../helpers/temporal';
import { workflowBundle } from '../helpers/workflow-bundle';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const pendingActivities = (handle: WorkflowHandle) => async (): Promise<number> =>
  (await handle.describe()).raw.pendingActivities?.length ?? 0;

test('a small run is done long before the large one of another agent that began before it', async () => {
  const order: string[] = [];
  const labelChunk: LlmActivities['labelChunk'] = async ({ context }) => {
    order.push(context.agent);
    await new Promise((resolve) => setTimeout(resolve, 10));
    return { asked: 1, reused: 0, unlabelled: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  };
  const start = (agent: string, chunks: number) =>
    temporal.client.workflow.start(WORKFLOWS.labelChunks, {
      workflowId: `fair-${agent}`,
      taskQueue: TASK_QUEUES.orchestration,
      priority: { fairnessKey: agent },
      args: [
        {
          context: { runId: 'r', agent, spec: artifact('s'), seed: 1 },
          plan: { plan: artifact('p'), chunks, calls: chunks, window: 60 },
          trajectories: artifact('t'),
          candidates: artifact('c'),
          cursor: 0,
          totals: { asked: 0, reused: 0, unlabelled: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
        },
      ],
    });
  const common = { connection: temporal.nativeConnection };
  const workflows = await Worker.create({
    ...common,
    taskQueue: TASK_QUEUES.orchestration,
    workflowBundle: await workflowBundle(),
  });
  const llm = await Worker.create({
    ...common,
    taskQueue: TASK_QUEUES.llm,
    activities: { labelChunk },
    maxConcurrentActivityTaskExecutions: 1,
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
  });
  await workflows.runUntil(async () => {
    const large = await start('large', 60);
    // The large run has its backlog before the small run and the worker start.
    await until(pendingActivities(large), (count) => count === 60);
    const small = await start('small', 10);
    await until(pendingActivities(small), (count) => count === 10);
    await llm.runUntil(Promise.all([large.result(), small.result()]));
  });
  expect(order).toHaveLength(70);
  expect(order.lastIndexOf('small')).toBeLessThan(45);
});
