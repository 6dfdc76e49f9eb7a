// integration: what `whet status` and `whet why` say of a stage that is refused again and again with the same words.
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { explainRun } from '../../cli/view/explain';
import { readRunState } from '../../cli/view/run-state';
import { stageLines } from '../../cli/view/stage-lines';
import { fakeActivities } from '../fakes/activities';
import { startRun, until } from '../helpers/runs';
import { startTemporal, withWorkers } from '../helpers/temporal';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

type AnyActivity = (input: never) => Promise<unknown>;

test('collection, labelling, calibration and evaluation say when the same failure came three times', async () => {
  const { activities } = fakeActivities({ kept: ['b'] });
  let works = false;
  const refused = (of: object, name: string, type: string) => {
    const rooms = of as Record<string, AnyActivity>;
    const activity = rooms[name]!;
    let isBack = false;
    rooms[name] = async (input) => {
      if (isBack || works) {
        isBack = true;
        works = false;
        return activity(input);
      }
      throw ApplicationFailure.create({ message: 'It is full.', type, nextRetryDelay: '300ms' });
    };
  };
  refused(activities.sandbox, 'collectTrajectories', 'Model.Unreachable');
  refused(activities.llm, 'labelChunk', 'Analyst.RateLimited');
  refused(activities.sandbox, 'calibrateEnvironment', 'Model.Unreachable');
  refused(activities.sandbox, 'rollOutArm', 'Model.Unreachable');
  await withWorkers(temporal, activities, async () => {
    const { runId, result } = await startRun(temporal);
    for (const [stage, title, type] of [
      ['collect', 'Rolling out the base agent', 'Model.Unreachable'],
      ['identify', 'Asking the analyst for labels', 'Analyst.RateLimited'],
      ['sharpen', 'Calibrating', 'Model.Unreachable'],
      ['evaluate', 'Rolling out on the held-out tasks', 'Model.Unreachable'],
    ] as const) {
      const shows = new RegExp(`attempt \\d+ after ${type}, ([3-9]|\\d\\d+) times in a row with the same words`);
      const why = new RegExp(
        `^${title}.*${type}: It is full\\. The same failure came ([3-9]|\\d\\d+) times in a row\\.`,
      );
      await until(
        () => readRunState(temporal.client, runId),
        (state) =>
          stageLines(state).some(({ name, text }) => name === stage && shows.test(text)) &&
          explainRun(state).some((sentence) => why.test(sentence)),
      );
      works = true;
    }
    expect((await result()).verdict).toBe('promoted');
  });
});
