// integration: the label fan-out on a real Temporal server, with fakes of the activities.
import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import type { LabelChunkResult } from '../../contracts/messages/identify-stage';
import { artifact, fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const NOTHING: LabelChunkResult = {
  asked: 0,
  reused: 0,
  unlabelled: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
};

const start = (workflowId: string, chunks: number, window?: number) =>
  temporal.client.workflow.start(WORKFLOWS.labelChunks, {
    workflowId,
    taskQueue: TASK_QUEUES.orchestration,
    args: [
      {
        context: { runId: 'r', agent: 'desk', spec: artifact('s'), seed: 1 },
        plan: { plan: artifact('p'), chunks, calls: 10 * chunks, ...(window === undefined ? {} : { window }) },
        trajectories: artifact('t'),
        candidates: artifact('c'),
        cursor: 0,
        totals: NOTHING,
      },
    ],
  });

/** Events of each execution under a workflow id, its children included. */
async function historyLengths(workflowId: string): Promise<number[]> {
  const lengths: number[] = [];
  for await (const run of temporal.client.workflow.list())
    if (run.workflowId.startsWith(workflowId)) lengths.push(run.historyLength);
  return lengths;
}

const chunksOf = (calls: readonly string[]) => calls.map((c) => Number(c.split(':')[1])).sort((a, b) => a - b);

test('labels every chunk exactly once and keeps each history short by continuing as new', async () => {
  const chunks = 500;
  const { activities, calls } = fakeActivities({ chunks });
  const { totals, lengths } = await withWorkers(temporal, activities, async () => {
    const handle = await start('labels-500', chunks);
    const result = (await handle.result()) as LabelChunkResult;
    await keepHistories(temporal, 'labels-500', 'continued-as-new', ['labelChunks']);
    return { totals: result, lengths: await historyLengths('labels-500') };
  });
  expect(totals.asked).toBe(5000);
  expect(chunksOf(calls)).toEqual([...Array(chunks).keys()]);
  expect(lengths.length).toBeGreaterThan(1);
  expect(Math.max(...lengths)).toBeLessThan(2000);
});

test('splits a large plan among coordinators and adds up what they report', async () => {
  const chunks = 1_003;
  const { activities, calls } = fakeActivities({ chunks });
  const { totals, lengths } = await withWorkers(temporal, activities, async () => {
    const result = (await (await start('labels-1003', chunks, 16)).result()) as LabelChunkResult;
    return { totals: result, lengths: await historyLengths('labels-1003') };
  });
  expect(totals.asked).toBe(10 * chunks);
  expect(chunksOf(calls)).toEqual([...Array(chunks).keys()]);
  expect(lengths.length).toBeGreaterThan(3);
  expect(Math.max(...lengths)).toBeLessThan(2000);
});

/** Whether the workflow has worked on the failure of an activity. */
async function hasSeenFailure(handle: WorkflowHandle): Promise<boolean> {
  const { events } = await handle.fetchHistory();
  const failed = events?.findIndex((event) => event.activityTaskFailedEventAttributes) ?? -1;
  const seen = events?.findLastIndex((event) => event.workflowTaskCompletedEventAttributes) ?? -1;
  return failed >= 0 && seen > failed;
}

test('a chunk that fails ends the workflow only when those beside it have ended, and no new one begins', async () => {
  const { activities, calls } = fakeActivities({ chunks: 50 });
  let ended = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const labelChunk: typeof activities.llm.labelChunk = async ({ chunk }) => {
    calls.push(`labelChunk:${chunk}`);
    if (chunk === 0) throw ApplicationFailure.nonRetryable('no key', 'Analyst.Unauthorised');
    await released;
    ended++;
    return { ...NOTHING, asked: 10 };
  };
  await withWorkers(temporal, { ...activities, llm: { ...activities.llm, labelChunk } }, async () => {
    const handle = await start('labels-failing', 50, 3);
    await until(() => hasSeenFailure(handle), Boolean);
    release();
    await expect(handle.result()).rejects.toMatchObject({
      cause: { cause: { type: 'Analyst.Unauthorised' } },
    });
  });
  expect(calls).toHaveLength(3);
  expect(ended).toBe(calls.length - 1);
});
