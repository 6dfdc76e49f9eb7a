// integration: what a run says of its collection, on a real Temporal server, with fakes of the activities.
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { fakeActivities, rollouts } from '../fakes/activities';
import { startRun } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

test.each([
  [
    { live: 7, unreadable: 2 },
    '93 rollouts and 7 conversations of live traffic, 40 successes; 2 lines of live traffic could not be read',
    undefined,
  ],
  [
    { ingested: 95, live: 100, withoutOutcome: 3, unreadable: 2 },
    '100 conversations, 40 successes; 3 more have no outcome; 2 lines could not be read',
    undefined,
  ],
  [
    { failed: { judge: 4, simulator: 6 }, failedTasks: ['loan-3', 'loan-7'] },
    '100 rollouts, 40 successes; without a result 10 failed (6 simulator, 4 judge), in tasks such as loan-3, loan-7',
    0.1,
  ],
])(
  'says what was collected beside usual rollouts, and plans with the share that failed: %j',
  async (more, detail, share) => {
    const { activities } = fakeActivities({});
    const { planEvaluation } = activities.sandbox;
    const shares: (number | undefined)[] = [];
    activities.sandbox.collectTrajectories = async () => ({ ...rollouts, ...more });
    activities.sandbox.planEvaluation = async (input) => {
      shares.push(input.failed);
      return planEvaluation!(input);
    };
    await withWorkers(temporal, activities, async () => {
      const { result, progress } = await startRun(temporal);
      await result();
      expect((await progress()).stages.find(({ name }) => name === 'collect')?.detail).toBe(detail);
    });
    expect(shares).toEqual([share]);
  },
);
