// Tier: jail (real jail and runtime, fake model server).
import { calibrateEnvironment } from '../../../activities/calibrate/calibrate-environment';
import { readFileSync } from 'node:fs';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import { certificateSchema } from '../../../contracts/artifacts/certificate';
import { calibrationResultSchema } from '../../../contracts/artifacts/environment-attempt';
import { type RolloutToRead, rolloutToReadSchema } from '../../../contracts/artifacts/second-reading';
import type { StageProgress } from '../../../contracts/messages/run-context';
import { type Trajectory, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { getJson, putJson, putLines, storedLines } from '../../../store';
import { seededScript } from '../../fakes/hostile-model-server';
import { oddAnswers, ROLLOUT_FORMS } from '../../fakes/hostile-rollouts';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

const capability = { id: 'stamps', name: 'Stamps', summary: 'count the stamps' };

describe('calibrateEnvironment', () => {
  let fixture: RunFixture;
  let server: FakePolicyServer;
  const spec = {
    calibration: { seeds: 10, rolloutsPerSeed: 4 },
    collect: { concurrency: 16 },
    training: { temperature: 0.7, maxCompletionTokens: 33 },
  };

  const calibrate = async (
    share: number,
    file = 'parcel_desk.py',
    options = spec,
    activity = fixture.activity(),
    edit = (text: string): string => text,
    behaviour: ((policy: ReturnType<typeof parcelPolicy>) => FakePolicyServer['behaviour']) | null = null,
  ) => {
    const policy = parcelPolicy(() => share);
    server = await new FakePolicyServer(policy).start();
    if (behaviour !== null) server.behaviour = behaviour(policy);
    const context = await fixture.prepare(server.baseUrl, options);
    const text = edit(readFileSync(fixturePath(file), 'utf8'));
    const source = await fixture.store.put('runs/run-1/environments/stamps', 'environment.py', text);
    const validation = await putJson(fixture.store, 'runs/run-1/environments/stamps', 'validation.json', {
      passed: true,
      problems: [],
      checks: [],
    });
    const trajectories = await putLines(fixture.store, 'runs/run-1/trajectories', 'trajectories.jsonl', []);
    const labels = await putLines(fixture.store, 'runs/run-1/labels', 'labels.jsonl', []);
    const input = { context, capability, source, validation, trajectories, labels };
    const outcome = await fixture.run(calibrateEnvironment.bind(null, fixture.deps), input, activity);
    return {
      outcome,
      result: await getJson(fixture.store, outcome.detail, calibrationResultSchema),
      certificate: await getJson(fixture.store, outcome.certificate, certificateSchema),
    };
  };

  const shownOf = async (ref: ArtifactRef): Promise<Trajectory[]> => {
    const shown: Trajectory[] = [];
    for await (const one of await storedLines(fixture.store, trajectorySchema)(ref)) shown.push(one);
    return shown;
  };

  beforeEach(() => {
    fixture = new RunFixture();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  test('an agent that succeeds now and then is in band', async () => {
    const { outcome, result, certificate } = await calibrate(0.4);
    expect(result.problems).toEqual([]);
    expect(outcome.inBand).toBe(true);
    expect(outcome.outcome).toMatch(
      /^in-band: mean reward 0\.\d\d, success 0\.\d\d, informative groups \d\.\d\d \(\d\d rollouts\)$/,
    );
    expect(outcome.rollouts).toBeUndefined();
    expect(outcome).toMatchObject({ promptTokens: 20 * result.rollouts, completionTokens: 10 * result.rollouts });
    expect(result).toMatchObject({ seeds: 10, rolloutsPerSeed: 4, planned: 40, doubt: 0 });
    // So few tasks leave a doubt, and so all rollouts of the fixed design are made.
    expect(result.rollouts).toBe(40);
    expect(certificate).toMatchObject({ certified: true, capability: 'stamps', calibration: { verdict: 'in-band' } });
    expect(certificate.checks.at(-1)).toMatchObject({ name: 'calibrated', group: 'calibrated', passed: true });
    expect(certificate.transfer!.detail).toMatch(/^Nothing can be said about transfer: only 0 of/);
    expect(result.groupMeans).toHaveLength(10);
    expect(server.requests[0]).toMatchObject({ temperature: 0.7, max_tokens: 33 });
  });

  test('rollouts for a second reader are kept: of the model, reference solutions and changed ones, as rollouts look', async () => {
    const { outcome } = await calibrate(0.4);
    const rollouts: RolloutToRead[] = [];
    for await (const one of await storedLines(fixture.store, rolloutToReadSchema)(outcome.toRead!)) rollouts.push(one);
    expect(new Set(rollouts.slice(0, 6).map(({ source }) => source))).toEqual(
      new Set(['base', 'reference', 'changed']),
    );
    const references = rollouts.filter(({ source }) => source === 'reference');
    expect(references.every(({ paid, callsForIt }) => paid && callsForIt === true)).toBe(true);
    expect(rollouts.filter(({ source, paid }) => source === 'changed' && !paid).length).toBeGreaterThan(3);
    const [base] = rollouts.filter(({ source }) => source === 'base');
    const shape = ({ messages }: RolloutToRead) => messages.slice(0, 3).map((message) => Object.keys(message).sort());
    expect(shape(references[0]!)).toEqual(shape(base!));
  });

  test('without a second reader nothing is kept for it', async () => {
    const { outcome } = await calibrate(0.4, undefined, {
      ...spec,
      certificate: { secondReader: { labels: 0 } },
    } as typeof spec);
    expect(outcome).toMatchObject({ inBand: true });
    expect(outcome.toRead).toBeUndefined();
  });

  test('a server with odd but legal answers is calibrated with, and the rollouts that it refuses are counted', async () => {
    const script = seededScript(1, 0.3, ROLLOUT_FORMS);
    const { outcome, result } = await calibrate(0.4, undefined, undefined, undefined, undefined, (policy) =>
      oddAnswers(policy, (samplingSeed) => script(String(samplingSeed))),
    );
    expect(result.rollouts).toBe(40);
    expect(result.refused).toBeGreaterThan(0);
    expect(outcome.outcome).toContain(`(40 rollouts, of which the model server refused ${result.refused})`);
    expect(result).toMatchObject({ faulty: false });
  });

  describe('in a later run', () => {
    const again = async (options: object = spec, file = 'parcel_desk.py') => {
      const { store } = fixture;
      const context = await fixture.prepare(server.baseUrl, options, undefined, 'run-2');
      const folder = 'runs/run-2/environments/stamps';
      const source = await store.put(folder, 'environment.py', readFileSync(fixturePath(file)));
      const checks = { passed: true, problems: [], checks: [] };
      const validation = await putJson(store, folder, 'validation.json', checks);
      const trajectories = await putLines(store, 'runs/run-2/trajectories', 'trajectories.jsonl', []);
      const labels = await putLines(store, 'runs/run-2/labels', 'labels.jsonl', []);
      const before = server.requests.length;
      const outcome = await fixture.run(calibrateEnvironment.bind(null, fixture.deps), {
        ...{ context, capability, source, validation, trajectories, labels },
      });
      return { outcome, asked: server.requests.length - before };
    };

    test('the same environment and model are not rolled out again', async () => {
      const first = await calibrate(0.4);
      const { outcome, asked } = await again();
      expect(asked).toBe(0);
      expect(outcome).toMatchObject({ inBand: true, reusedFrom: 'run-1', promptTokens: 0, completionTokens: 0 });
      expect(outcome.outcome).toBe(first.outcome.outcome);
      expect(outcome.detail.key).toMatch(/^runs\/run-2\//);
      expect(await getJson(fixture.store, outcome.detail, calibrationResultSchema)).toEqual(first.result);
      expect((await getJson(fixture.store, outcome.certificate, certificateSchema)).certified).toBe(true);
      expect(outcome.toRead).toMatchObject({
        sha256: first.outcome.toRead!.sha256,
        key: expect.stringMatching(/^runs\/run-2\//) as unknown,
      });
    });

    test('one that kept nothing for the second reader is calibrated anew for it', async () => {
      await calibrate(0.4, undefined, { ...spec, certificate: { secondReader: { labels: 0 } } } as typeof spec);
      const { outcome, asked } = await again();
      expect(asked).toBeGreaterThan(0);
      expect(outcome.toRead).toBeDefined();
    });

    test('one that was refused comes with its rollouts', async () => {
      const first = await calibrate(1);
      const { outcome, asked } = await again();
      expect(asked).toBe(0);
      expect(outcome.rollouts).toMatchObject({
        sha256: first.outcome.rollouts!.sha256,
        key: expect.stringMatching(/^runs\/run-2\//) as unknown,
      });
    });

    test('a setting of the rollouts that changed calibrates anew', async () => {
      await calibrate(0.4);
      const { outcome, asked } = await again({ ...spec, training: { ...spec.training, temperature: 0.8 } });
      expect(asked).toBeGreaterThan(0);
      expect(outcome.reusedFrom).toBeUndefined();
    });
  });

  test('an agent that always succeeds: too easy, with the numbers', async () => {
    const { outcome, result } = await calibrate(1);
    expect(outcome.inBand).toBe(false);
    expect(result.verdict).toBe('too-easy');
    expect([outcome.faulty, result.faulty]).toEqual([false, false]);
    expect(result.problems[0]).toContain('mean reward is 1.00, above 0.60');
    const shown = await shownOf(outcome.rollouts!);
    expect(shown.map(({ reward }) => reward)).toEqual([1, 1, 1, 1]);
    expect(new Set(shown.map(({ task }) => task.seed)).size).toBe(4);
  });

  describe('where the reward is another one with training seeds', () => {
    const options = { ...spec, calibration: { seeds: 40, rolloutsPerSeed: 8 } };
    const payingFrom = (seed: string) => (text: string) =>
      text
        .replace('"skill_calls": [1]', `$&, "free": seed >= ${seed}`)
        .replace('if exact else 0.1', 'if exact else 0.7 if task["free"] else 0.1');

    test('the environment is out of band, with both means', async () => {
      const { outcome, result, certificate } = await calibrate(
        0.3,
        'parcel_desk.py',
        options,
        undefined,
        payingFrom('1_000_000'),
      );
      expect([outcome.inBand, outcome.faulty, result.verdict]).toEqual([false, false, 'differs-by-seed']);
      const { training, calibration } = result.bySeeds!;
      expect(training.meanReward - calibration.meanReward).toBeGreaterThan(0.2);
      expect(result.problems[0]).toBe(
        `The base model's mean reward is ${training.meanReward.toFixed(2)} on ${training.tasks} tasks with training ` +
          `seeds (from 1000000) and ${calibration.meanReward.toFixed(2)} on ${calibration.tasks} tasks with ` +
          'calibration seeds: make tasks and rewards of the same kind at every seed; the seed may only choose among them.',
      );
      expect(outcome.outcome).toContain('tasks with training seeds');
      expect(certificate.certified).toBe(false);
      expect(certificate.checks.at(-1)!.figures.map(({ name }) => name)).toContain('mean reward with training seeds');
    });

    test('the same rewards at every seed are in band', async () => {
      const { outcome, result } = await calibrate(0.3, 'parcel_desk.py', options, undefined, payingFrom('10**9'));
      expect(result.problems).toEqual([]);
      expect(outcome.inBand).toBe(true);
      expect(result.seeds).toBeGreaterThanOrEqual(16);
    });
  });

  test('no more is rolled out once the verdict is certain', async () => {
    const { outcome, result } = await calibrate(0, 'parcel_desk.py', {
      ...spec,
      calibration: { seeds: 40, rolloutsPerSeed: 4 },
    });
    expect(outcome.inBand).toBe(false);
    expect(result).toMatchObject({ verdict: 'too-hard', seeds: 8, rollouts: 32, planned: 160 });
    expect(result.doubt).toBeLessThanOrEqual(0.01);
  });

  test('an environment that raises on some tasks and dies on others loses those episodes and is rejected', async () => {
    const { outcome, result } = await calibrate(0.5, 'raising_desk.py');
    expect(outcome.inBand).toBe(false);
    // Of these eight tasks two raise, and one ends the process; four rollouts of each.
    expect(result.problems[0]).toMatch(
      /^The environment failed in 12 of 32 rollouts, in 4 of them by ending or hanging: .*ZeroDivisionError/,
    );
    expect(result.groupMeans).toEqual([0, 0, 1, 0, 0, 0, 0, 0]);
    expect([outcome.faulty, result.faulty]).toEqual([true, true]);
  });

  test('deaths are told from exceptions over all portions, and the rollouts made are paid for', async () => {
    // A band whose end lies where the figures are, so that one portion of eight tasks does not suffice. A task of
    // the first one dies, and two of the second one.
    const wide = {
      meanReward: [0, 1],
      meanSuccess: [0, 1],
      maxAllSuccessGroups: 0.3,
      maxAllZeroGroups: 1,
      maxConstantGroups: 1,
      minInformativeGroups: 0,
    };
    const calibration = { seeds: 60, rolloutsPerSeed: 4, ...wide, minRewardStd: 0 } as typeof spec.calibration;
    const { outcome, certificate } = await calibrate(0.5, 'raising_desk.py', { ...spec, calibration });
    expect(outcome.outcome).toMatch(/^unusable: The environment hung or died in 8 episodes\. .* ended with code 3/);
    expect(outcome.completionTokens).toBeGreaterThan(0);
    expect(certificate.transfer).toBeNull();
  });

  test('the estimate of transfer heartbeats and can be cancelled, as the rollouts before it', async () => {
    const activity = fixture.activity();
    activity.on('heartbeat', ({ unit }: StageProgress) => unit === 'estimates' && activity.cancel('CANCELLED'));
    await expect(calibrate(0.4, 'parcel_desk.py', spec, activity)).rejects.toMatchObject({ name: 'CancelledFailure' });
    expect(fixture.heartbeats.at(-1)).toMatchObject({
      stage: 'sharpen',
      unit: 'estimates',
      note: 'estimates the transfer of stamps',
    });
  });

  test('an environment that keeps dying is given up', async () => {
    const { outcome, result } = await calibrate(0.5, 'raising_desk.py', {
      ...spec,
      calibration: { seeds: 30, rolloutsPerSeed: 16 },
    });
    expect(outcome.inBand).toBe(false);
    expect(outcome.outcome).toMatch(/^unusable: The environment hung or died in 6 episodes/);
    expect(outcome.completionTokens).toBeGreaterThan(0);
    expect(result.problems).toHaveLength(1);
    expect([outcome.faulty, result.faulty]).toEqual([true, true]);
  });
});
