// integration: experiments between two contrasts, on a real Temporal server, with fake activities.
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ContrastInput } from '../../contracts/messages/identify-stage';
import { WORKFLOWS } from '../../contracts/names';
import { fakeActivities } from '../fakes/activities';
import { keepHistories } from '../helpers/histories';
import { startRun } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

const questions = {
  ...{ key: 'questions.json', sha256: 'a'.repeat(64), bytes: 2, mediaType: 'application/json' },
};

test('open questions are tried once, and the contrast is made again with the answers', async () => {
  const { activities, calls } = fakeActivities({ kept: ['a'] });
  const { contrastCapabilities } = activities.llm;
  const inputs: ContrastInput[] = [];
  activities.llm.contrastCapabilities = async (input) => {
    inputs.push(input);
    const contrasted = await contrastCapabilities!(input);
    return input.experiments === undefined ? { ...contrasted, kept: [], questions } : contrasted;
  };
  const { playExperiments } = activities.sandbox;
  activities.sandbox.playExperiments = async (input) => {
    expect(input.questions).toEqual(questions);
    return playExperiments!(input);
  };
  await withWorkers(temporal, activities, async () => {
    const { runId, result } = await startRun(temporal);
    expect((await result()).verdict).toBe('promoted');
    await keepHistories(temporal, runId, 'experiments', [WORKFLOWS.identifyCapabilities]);
  });
  expect(calls.filter((call) => call === 'playExperiments')).toHaveLength(1);
  expect(inputs.map(({ experiments }) => experiments?.key.endsWith('experiments.json') ?? null)).toEqual([null, true]);
});
