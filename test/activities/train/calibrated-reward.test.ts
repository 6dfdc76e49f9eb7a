// Tier: unit.
import { calibratedReward, rewardOf } from '../../../activities/train/calibrated-reward';
import { calibrationOf } from '../../../activities/calibrate/calibration';
import { calibrationKey } from '../../../activities/reuse/content-keys';
import { keepReusable } from '../../../activities/reuse/reuse-records';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { getJson, putJson } from '../../../store';
import { RunFixture } from '../run-fixture';

const { seeds: _seeds, rolloutsPerSeed: _rollouts, ...band } = agentSpecSchema.shape.calibration.parse(undefined);
const thresholds = { ...band, successReward: 1 };

describe('rewardOf', () => {
  test('variances between tasks and within a task, of the rollouts in the means', () => {
    const reward = rewardOf(
      calibrationOf(
        [
          [1, 0, 0, 0],
          [1, 1, 1, 0],
          [1, 1, 1, 1],
        ],
        thresholds,
      ),
    )!;
    expect(reward).toMatchObject({ mean: 2 / 3, tasks: 3 });
    // Task means 1/4, 3/4 and 1; unbiased variances within them 1/4, 1/4 and 0.
    expect(reward.standardError).toBeCloseTo(Math.sqrt(7 / 48 / 3), 12);
    expect(reward.withinTask).toBeCloseTo(1 / 6, 12);
    expect(reward.betweenTasks).toBeCloseTo(7 / 48 - 1 / 6 / 4, 12);
  });

  test('where tasks got different numbers of rollouts, the means are of half of them', () => {
    const halves = [
      [1, 0, 1, 1],
      [0, 0, 0, 0, 1, 0, 0, 0],
    ];
    const reward = rewardOf(calibrationOf(halves, thresholds, { seeds: 2, rolloutsPerSeed: 8, first: 4 }))!;
    expect(reward).toMatchObject({ mean: 0.375, tasks: 2 });
    expect(reward.withinTask).toBeCloseTo((1 / 4 + 0) / 2, 12);
  });

  test('one rollout of each task: all of the variance is between tasks', () => {
    const reward = rewardOf(calibrationOf([[1], [0]], thresholds))!;
    expect(reward.withinTask).toBe(0);
    expect(reward.betweenTasks).toBeCloseTo(0.5, 12);
  });

  test('nothing of a single task', () => {
    expect(rewardOf(calibrationOf([[1, 0]], thresholds))).toBeUndefined();
  });
});

describe('calibratedReward', () => {
  let fixture: RunFixture;
  beforeEach(() => (fixture = new RunFixture()));
  afterEach(() => fixture.dispose());

  test('is that of the record of the training’s one environment', async () => {
    const { store } = fixture;
    const context = await fixture.prepare('http://127.0.0.1:9/v1');
    const prepared = await getJson(store, context.spec, preparedSpecSchema);
    const source = await store.put('runs/run-1/environments/stamps', 'environment.py', 'class Environment: ...\n');
    const input = { context, job: 'stamps', environments: [{ id: 'stamps', source }], budgetFactor: 1 };
    expect(await calibratedReward(store, prepared, input)).toBeUndefined();

    const result = calibrationOf(
      [
        [1, 0, 0, 0],
        [1, 1, 1, 0],
      ],
      thresholds,
    );
    const detail = await putJson(store, 'runs/run-1/environments/stamps', 'calibration.json', result);
    const verdict = { inBand: true, faulty: false, outcome: 'in band' };
    const key = calibrationKey(prepared, source.sha256, context.seed);
    await keepReusable(store, context.agent, key, { runId: 'run-1', detail, certificate: detail, ...verdict });
    expect(await calibratedReward(store, prepared, input)).toEqual(rewardOf(result));

    const two = [...input.environments, { id: 'letters', source }];
    expect(await calibratedReward(store, prepared, { ...input, environments: two })).toBeUndefined();
  });
});
