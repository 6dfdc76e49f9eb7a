// integration: the stability study on a real Temporal server, with fakes of the activities.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import type { StudyInput, StudyResult } from '../../contracts/messages/identify-stage';
import { artifact, fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const start = (studyId: string) => {
  const input: StudyInput = { studyId, agent: 'desk', identifications: 4, sourceRun: null };
  return temporal.client.workflow.start(WORKFLOWS.studyStability, {
    workflowId: studyId,
    taskQueue: TASK_QUEUES.orchestration,
    args: [input],
  });
};

test('identifies as often as asked, each with its own seed and its own labels, and compares', async () => {
  const { activities } = fakeActivities();
  const planned: number[] = [];
  const seeds: number[] = [];
  const recorded: string[] = [];
  const { discoverCandidates, planLabels } = activities.llm;
  activities.llm.discoverCandidates = async (input) => {
    seeds.push(input.context.seed);
    expect(input.independent).toBeDefined();
    return discoverCandidates!(input);
  };
  activities.llm.planLabels = async (input) => {
    planned.push(input.run);
    return planLabels!(input);
  };
  activities.orchestration.recordIdentification = async ({ seed, previous }) => {
    recorded.push(`${seed}:${previous === null ? 'first' : previous.key}`);
    return artifact(`recorded-${seed}`);
  };
  await withWorkers(temporal, activities, async () => {
    const handle = await start('study-desk-1');
    expect((await handle.result()) as StudyResult).toMatchObject({ directory: '/study' });
    await keepHistories(temporal, 'study-desk-1', 'four-identifications', ['identifyCapabilities', 'studyStability']);
  });
  expect(seeds.sort()).toEqual([1, 2, 3, 4]);
  expect(planned.sort()).toEqual([0, 1, 2, 3]);
  expect(recorded).toEqual(['1:first', '2:recorded-1', '3:recorded-2', '4:recorded-3']);
});

test('fails with the reason instead of waiting for a person', async () => {
  const { activities } = fakeActivities();
  activities.llm.discoverCandidates = async () => {
    throw ApplicationFailure.nonRetryable('401 from the endpoint', 'Analyst.Unauthorised');
  };
  await withWorkers(temporal, activities, async () => {
    const handle = await start('study-desk-2');
    await expect(handle.result()).rejects.toMatchObject({
      cause: { cause: { cause: { message: '401 from the endpoint' } } },
    });
  });
});
