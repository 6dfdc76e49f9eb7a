// integration: a run that ends after identification, on a real Temporal server, with fakes of the activities.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ReportInput } from '../../contracts/messages/run';
import { ENDED_AFTER_IDENTIFY, SEARCH_ATTRIBUTES } from '../../contracts/names';
import { fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const start = () => startRun(temporal, undefined, { until: 'identify' });

const MEASURED = { version: { version: 4, runId: 'run-before', adapters: [], capabilities: [], router: null } };

test('collects, identifies and reports, and asks for nothing that only a training needs', async () => {
  // A version is served, which a night would measure.
  const { activities, calls } = fakeActivities({ kept: ['a', 'b'], measured: MEASURED as never });
  const reported: ReportInput[] = [];
  const { renderReport } = activities.orchestration;
  activities.orchestration.renderReport = async (input) => {
    reported.push(input);
    return renderReport!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { handle, runId, result, progress } = await start();
    expect(await result()).toMatchObject({
      verdict: 'diagnosed',
      reasons: [
        expect.stringMatching(/^Identification kept 2 of .*: Capability a, Capability b\.$/),
        ENDED_AFTER_IDENTIFY,
      ],
      promotedVersion: null,
    });
    expect((await progress()).stages.map(({ status }) => status)).toEqual([
      ...['done', 'done', 'skipped', 'skipped', 'skipped', 'done'],
    ]);
    const { searchAttributes } = await handle.describe();
    expect(searchAttributes[SEARCH_ATTRIBUTES.verdict]).toEqual(['diagnosed']);
    await keepHistories(temporal, runId, 'diagnosed');
  });
  expect(reported).toMatchObject([{ verdict: 'diagnosed', sharpened: [], comparison: null }]);
  expect(reported[0]).not.toHaveProperty('night');
  const asked = new Set(calls.map((call) => call.split(':')[0]));
  expect([...asked]).toEqual(['prepareRun', 'labelChunk', 'tally', 'contrast', 'renderReport']);
});

test('waits for a person as every run does, and goes on after `whet retry`', async () => {
  const { activities } = fakeActivities({ kept: [] });
  const { collectTrajectories } = activities.sandbox;
  let failures = 1;
  activities.sandbox.collectTrajectories = async (...given) => {
    if (failures-- > 0) throw ApplicationFailure.nonRetryable('the desk is closed', 'Environment.Failed');
    return collectTrajectories!(...given);
  };
  await withWorkers(temporal, activities, async () => {
    const { result, progress, answer } = await start();
    await until(progress, ({ waitingFor }) => waitingFor?.includes('the desk is closed') === true);
    await answer({ answer: 'retry' });
    expect(await result()).toMatchObject({
      verdict: 'diagnosed',
      reasons: ['No capability was kept.', ENDED_AFTER_IDENTIFY],
    });
  });
});
