// integration: the label fan-out on a real Temporal server, with fakes of the activities.
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { TASK_QUEUES, WORKFLOWS, type LabelChunkResult } from '../../contracts';
import { artifact, fakeActivities } from '../helpers/fake-activities';
import { keepHistories } from '../helpers/histories';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

test('labels every chunk exactly once and keeps each history short by continuing as new', async () => {
  const chunks = 500;
  const { activities, calls } = fakeActivities({ chunks });
  const { totals, runs, longest } = await withWorkers(temporal, activities, async () => {
    const context = { runId: 'r', agent: 'desk', spec: artifact('s'), seed: 1 };
    const handle = await temporal.client.workflow.start(WORKFLOWS.labelChunks, {
      workflowId: 'labels-500',
      taskQueue: TASK_QUEUES.orchestration,
      args: [
        {
          context,
          plan: { plan: artifact('p'), chunks, calls: 5000 },
          trajectories: artifact('t'),
          candidates: artifact('c'),
          cursor: 0,
          totals: { asked: 0, reused: 0, unlabelled: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
        },
      ],
    });
    const result = (await handle.result()) as LabelChunkResult;
    await keepHistories(temporal, 'labels-500', 'continued-as-new');
    const lengths: number[] = [];
    for await (const run of temporal.client.workflow.list({ query: "WorkflowId = 'labels-500'" })) lengths.push(run.historyLength);
    return { totals: result, runs: lengths.length, longest: Math.max(...lengths) };
  });
  expect(totals.asked).toBe(5000);
  expect(calls.map((c) => Number(c.split(':')[1])).sort((a, b) => a - b)).toEqual([...Array(chunks).keys()]);
  expect(runs).toBeGreaterThan(1);
  expect(longest).toBeLessThan(2000);
});
