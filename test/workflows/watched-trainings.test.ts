// integration: trainings with probes, on a real Temporal server, with fake activities.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ReportInput } from '../../contracts/messages/run';
import { fakeActivities } from '../fakes/activities';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

const LOST = 'The adapter of b is not kept: ended at iteration 10: tasks that do not need it lost 31 points';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

/** Fake activities in which the training of `b` is harmful, and the input of the report. */
function harmful(onRejected: 'wait' | 'skip') {
  const { activities } = fakeActivities({ kept: ['a', 'b'], onRejected });
  const { trainAdapter } = activities.jobs;
  const { renderReport } = activities.orchestration;
  const seen: { report: ReportInput | null } = { report: null };
  activities.jobs.trainAdapter = async (input) => {
    if (input.job === 'b') throw ApplicationFailure.nonRetryable(`${LOST}.`, 'Trainer.Harmful');
    return trainAdapter!(input);
  };
  activities.orchestration.renderReport = async (input) => {
    seen.report = input;
    return renderReport!(input);
  };
  return { activities, seen };
}

const endOf = ({ report }: { report: ReportInput | null }) =>
  report?.sharpened.find(({ capability }) => capability.id === 'b');

test('where rejected environments are skipped, so is one that its training showed to be harmful', async () => {
  const { activities, seen } = harmful('skip');
  await withWorkers(temporal, activities, async () => {
    expect((await (await startRun(temporal)).result()).verdict).toBe('promoted');
    expect(endOf(seen)).toMatchObject({ status: 'skipped', adapter: null, reason: `${LOST}.` });
  });
});

test('else a person decides, and the report still says what was lost', async () => {
  const { activities, seen } = harmful('wait');
  await withWorkers(temporal, activities, async () => {
    const { answer, progress, result } = await startRun(temporal);
    await until(progress, (p) => p.waitingFor?.includes(LOST) === true);
    await answer({ answer: 'skip', key: 'b' });
    expect((await result()).verdict).toBe('promoted');
    expect(endOf(seen)).toMatchObject({ status: 'skipped', reason: `training skipped by a person: ${LOST}.` });
  });
});

test('each training gets the rollouts and labels from which its probes are chosen, the mixed one too', async () => {
  const { activities } = fakeActivities({ kept: ['a', 'b'], mixedAdapter: true });
  const { trainAdapter } = activities.jobs;
  const given = new Map<string, unknown>();
  activities.jobs.trainAdapter = async (input) => {
    given.set(input.job, input.evidence);
    return { ...(await trainAdapter!(input)), watched: 'kept iteration 30 of 40' };
  };
  await withWorkers(temporal, activities, async () => {
    await (await startRun(temporal)).result();
    expect([...given.keys()].sort()).toEqual(['a', 'b', 'mixed']);
    const [first, ...others] = given.values();
    expect(first).toMatchObject({ trajectories: { key: expect.any(String) }, labels: { key: expect.any(String) } });
    for (const other of others) expect(other).toEqual(first);
  });
});
