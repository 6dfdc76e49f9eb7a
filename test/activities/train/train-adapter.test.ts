// Tier: integration (real processes, fake trainer).
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApplicationFailure } from '@temporalio/common';
import { createTrainActivities } from '../../../activities/train';
import { ResourceAdmission } from '../../../activities/train/resource-admission';
import { trainerState } from '../../../activities/train/trainer-process';
import { trainingJobSchema, trainingManifestSchema } from '../../../contracts/artifacts/training';
import type { TrainInput } from '../../../contracts/messages/sharpen-stage';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { getJson, layout, putJson } from '../../../store';
import { modelDirectorySha256 } from '../../../store/model-hash';
import { RunFixture } from '../run-fixture';
import { fakeBackend, stampsTraining } from './fake-backend';

const root = join(__dirname, '..', '..', '..');
const JOB_FIXTURE = join(root, 'test', 'fixtures', 'training-job.json');

describe('trainAdapter', () => {
  let fixture: RunFixture;
  let input: TrainInput;

  beforeEach(async () => {
    fixture = new RunFixture();
    input = await stampsTraining(fixture);
  });
  afterEach(async () => {
    delete process.env['FAKE_TRAINER'];
    delete process.env['FAKE_SECONDS'];
    delete process.env['FAKE_HOLD'];
    delete process.env['FAKE_VERSION'];
    delete process.env['FAKE_LINGER'];
    delete process.env['FAKE_NOTHING'];
    delete process.env['FAKE_PARTIAL'];
    await fixture.dispose();
  });

  const activities = (graceMs = 60_000, room = new ResourceAdmission()) =>
    createTrainActivities({ store: fixture.store, backends: { local: fakeBackend({ graceMs, room }) } });
  const train = (activity = fixture.activity(), what = input) => fixture.run(activities().trainAdapter, what, activity);
  const directory = (): string => {
    const jobs = fixture.store.localPath('runs/run-1/training');
    return join(jobs, readdirSync(jobs)[0]!);
  };
  const starts = (): number => readFileSync(join(directory(), 'starts.txt'), 'utf8').trim().split('\n').length;
  const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const started = () => {
    // The folder of all trainings is there for a moment before the folder of the first one.
    const jobs = fixture.store.localPath('runs/run-1/training');
    return until(
      () => existsSync(jobs) && readdirSync(jobs).some((job) => existsSync(join(jobs, job, 'progress.jsonl'))),
    );
  };

  /** The trainer makes half of its iterations, and ends only after `release`, however slow this machine is. */
  const hold = () => (process.env['FAKE_HOLD'] = 'stamps');
  const release = () => writeFileSync(join(directory(), 'go'), '');

  test('writes the job, runs it and keeps the adapter under its hash', async () => {
    const adapter = await train();
    expect(adapter).toMatchObject({ capabilityId: 'stamps', rollouts: 8 * 16, seconds: 1.5, finalReward: 1 });
    expect(adapter.name).toBe(`stamps@${adapter.sha256.slice(0, 12)}`);
    expect(readdirSync(fixture.store.localPath(adapter.key)).sort()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
    ]);
    expect(await getJson(fixture.store, adapter.manifest, trainingManifestSchema)).toMatchObject({
      adapterSha256: adapter.sha256,
    });
    const written = readFileSync(join(directory(), 'job.json'), 'utf8');
    const job = trainingJobSchema.parse(JSON.parse(written));
    // A new training option needs its line in this file, which the trainer's own tests read as well.
    const expected = { 'test/fixtures/training-job.json': readFileSync(JOB_FIXTURE, 'utf8') };
    const portable = written.replaceAll(fixture.folder, '/store').replaceAll(root, '/whetstone');
    expect({ 'test/fixtures/training-job.json': portable }).toEqual(expected);
    expect(readFileSync(job.environments[0]!.path, 'utf8')).toBe('class Environment: ...\n');
    expect(fixture.heartbeats.at(-1)).toMatchObject({ stage: 'sharpen', unit: 'iterations', done: 8, total: 8 });
  });

  test('a trainer without room beside another one waits, says so, and starts when that one has ended', async () => {
    const room = new ResourceAdmission({ bytes: Infinity, threads: 2 });
    room.enter('/another', 'another', { bytes: 0, threads: 2 });
    const training = fixture.run(activities(0, room).trainAdapter, input, fixture.activity());
    await until(() =>
      fixture.heartbeats.some(({ note }) => /: waits until another trainer has ended: /.test(note ?? '')),
    );
    expect(existsSync(join(directory(), 'starts.txt'))).toBe(false);
    room.leave('/another', 'another');
    expect(await training).toMatchObject({ capabilityId: 'stamps' });
    expect(room.taken).toEqual({ bytes: 0, threads: 0 });
  });

  test('a finished job is not trained again', async () => {
    const first = await train();
    expect(await train()).toEqual(first);
    expect(starts()).toBe(1);
  });

  describe('in a later run', () => {
    const trainIn = async (runId: string, spec: object = { training: { iterations: 8 } }) => {
      const context = await fixture.prepare('http://127.0.0.1:9/v1', spec, undefined, runId);
      return train(undefined, { ...input, context });
    };

    test('the same content gives the same adapter without a trainer', async () => {
      const first = await train();
      const again = await trainIn('run-2');
      expect(again).toMatchObject({ sha256: first.sha256, key: first.key, name: first.name, reusedFrom: 'run-1' });
      expect(again.manifest).toMatchObject({
        sha256: first.manifest.sha256,
        key: expect.stringContaining('runs/run-2/'),
      });
      const job = readdirSync(fixture.store.localPath('runs/run-2/training'))[0]!;
      expect(existsSync(fixture.store.localPath(`runs/run-2/training/${job}/job.json`))).toBe(false);
    });

    test('options that do not change the result do not train again', async () => {
      await train();
      const spec = { training: { iterations: 8, checkpointEvery: 2, reportTo: 'none' } };
      expect((await trainIn('run-2', spec)).reusedFrom).toBe('run-1');
    });

    test.each([
      ['another option', { training: { iterations: 4 } }],
      ['another temperature', { training: { iterations: 8, temperature: 0.5 } }],
    ])('%s trains anew', async (_, spec) => {
      await train();
      expect((await trainIn('run-2', spec)).reusedFrom).toBeUndefined();
    });

    test('an adapter of a trainer of another version is trained anew', async () => {
      process.env['FAKE_VERSION'] = '0.0.9';
      expect((await train()).reusedFrom).toBeUndefined();
      delete process.env['FAKE_VERSION'];
      expect((await trainIn('run-2')).reusedFrom).toBeUndefined();
      expect((await trainIn('run-3')).reusedFrom).toBe('run-2');
    });

    test('an adapter whose files were changed is trained anew', async () => {
      const first = await train();
      writeFileSync(join(fixture.store.localPath(first.key), 'adapter_model.safetensors'), 'torn');
      const again = await trainIn('run-2');
      expect(again.reusedFrom).toBeUndefined();
      expect(await modelDirectorySha256(fixture.store.localPath(again.key))).toBe(again.sha256);
    });
  });

  test('a finished job whose adapter was damaged is trained again', async () => {
    const first = await train();
    writeFileSync(join(directory(), 'adapter', 'adapter_model.safetensors'), 'torn');
    expect(await train()).toEqual(first);
    expect(starts()).toBe(2);
    expect(existsSync(join(directory(), 'manifest.damaged.json'))).toBe(true);
    // What is in the store needs no checkpoint any more.
    expect(existsSync(join(directory(), 'checkpoints'))).toBe(false);
  });

  test('while its trainer is still on its way out as well', async () => {
    process.env['FAKE_LINGER'] = '1';
    const first = await train();
    delete process.env['FAKE_LINGER'];
    delete process.env['FAKE_NOTHING'];
    writeFileSync(join(directory(), 'adapter', 'adapter_model.safetensors'), 'torn');
    const before = fixture.heartbeats.length;
    const second = train();
    // The second attempt has found the trainer and watches it.
    await until(() => fixture.heartbeats.slice(before).some(({ note }) => note?.includes('reward') === true));
    writeFileSync(join(directory(), 'leave'), '');
    expect(await second).toEqual(first);
    expect(starts()).toBe(2);
  });

  test('another base model than the run began with is Model.Changed, whether the worker or the trainer reads it', async () => {
    const model = join(fixture.folder, 'model');
    mkdirSync(model);
    writeFileSync(join(model, 'config.json'), '{}');
    const prepared = await getJson(fixture.store, input.context.spec, preparedSpecSchema);
    const on = async (changes: Partial<typeof prepared>): Promise<TrainInput> => {
      const spec = await putJson(fixture.store, layout.run('run-1'), 'spec.json', { ...prepared, ...changes });
      return { ...input, context: { ...input.context, spec } };
    };
    const frozen = await on({ modelPath: model, baseModelSha256: await modelDirectorySha256(model) });
    writeFileSync(join(model, 'config.json'), '{"layers":2}');
    const changed = { type: 'Model.Changed', nonRetryable: true };
    await expect(train(undefined, frozen)).rejects.toMatchObject(changed);
    expect(existsSync(fixture.store.localPath('runs/run-1/training'))).toBe(false);
    // The worker does not see the directory. What was trained is set aside, so that a retry trains anew.
    const unseen = await on({ baseModelSha256: '1'.repeat(64) });
    await expect(train(undefined, unseen)).rejects.toMatchObject(changed);
    expect(directory()).toMatch(/-on-0{12}-\d+$/);
  });

  test('the worker attends to its trainer, and tells it its version', async () => {
    hold();
    const running = train();
    await started();
    expect(existsSync(join(directory(), 'attended'))).toBe(true);
    const pid = readFileSync(join(directory(), 'starts.txt'), 'utf8').trim();
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toMatch(/WHET_WORKER_VERSION=\d/);
    release();
    await running;
  });

  test('the budget factor multiplies the iterations', async () => {
    const adapter = await train(undefined, { ...input, job: 'mixed', budgetFactor: 2 });
    expect(adapter).toMatchObject({ capabilityId: 'mixed', rollouts: 16 * 16 });
  });

  test('the next attempt takes over the trainer of a worker that died', async () => {
    hold();
    const lost = fixture.activity();
    const first = train(lost);
    await started();
    // A worker that shuts down leaves the same behind as one that is killed: a trainer in a session of its own.
    lost.cancel('WORKER_SHUTDOWN');
    await expect(first).rejects.toThrow('WORKER_SHUTDOWN');
    expect((await trainerState(directory())).status).toBe('running');
    release();
    await train();
    expect(starts()).toBe(1);
  });

  test('a trainer that was killed is Trainer.Died, and the next attempt resumes from its checkpoint', async () => {
    process.env['FAKE_TRAINER'] = 'kill';
    const failure = train();
    await expect(failure).rejects.toMatchObject({ type: 'Trainer.Died', nonRetryable: false });
    await expect(failure).rejects.toThrow(
      /was ended by signal 9.*last checkpoint.*trainer\.log.*\nthe fake trainer does as it was told/s,
    );
    await train();
    expect(starts()).toBe(2);
    const iterations = readFileSync(join(directory(), 'progress.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { iteration: number }).iteration);
    expect(iterations).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('the same holds when the shell around the trainer is killed with it', async () => {
    hold();
    const failure = train();
    await started();
    const state = await trainerState(directory());
    if (state.status !== 'running') throw new Error('The trainer should be running.');
    process.kill(-state.processGroup, 'SIGKILL');
    await expect(failure).rejects.toMatchObject({
      type: 'Trainer.Died',
      message: expect.stringContaining('was killed') as string,
    });
  });

  test('a trainer that dies again and again at the same place waits for a person, and goes on after a retry', async () => {
    process.env['FAKE_TRAINER'] = 'stuck';
    process.env['FAKE_SECONDS'] = '0';
    const types: unknown[] = [];
    const attempt = () => train().catch((error: ApplicationFailure) => error);
    // The first start reaches the checkpoint of iteration 3, the next ten do not reach another.
    for (let start = 0; start < 11; start++) types.push(((await attempt()) as ApplicationFailure).type);
    expect(types).toEqual([...Array<string>(10).fill('Trainer.Died'), 'Trainer.Failed']);
    // A retry is a person's decision: it counts from 0, and once the cause is gone it goes on.
    expect(await attempt()).toMatchObject({ type: 'Trainer.Died', nonRetryable: false });
    delete process.env['FAKE_TRAINER'];
    await train();
    expect(readFileSync(join(directory(), 'progress.jsonl'), 'utf8').trim().split('\n')).toHaveLength(8);
  });

  test('deaths with a checkpoint in between are no attempts, however many there are', async () => {
    process.env['FAKE_TRAINER'] = 'step';
    process.env['FAKE_SECONDS'] = '0';
    const long = { ...input, budgetFactor: 2 };
    for (let death = 0; death < 15; death++)
      await expect(train(undefined, long)).rejects.toMatchObject({ type: 'Trainer.Died', nonRetryable: false });
    await expect(train(undefined, long)).rejects.toThrow(/started again from its last checkpoint/);
    expect(await train(undefined, long)).toMatchObject({ capabilityId: 'stamps' });
  });

  test.each([
    [64, 'Trainer.JobInvalid', true],
    [65, 'Trainer.EnvironmentFailed', true],
    [66, 'Trainer.Diverged', true],
    [67, 'Trainer.Died', false],
    [68, 'Trainer.GpuOutOfMemory', true],
    [69, 'Trainer.Died', false],
    [70, 'Trainer.SamplerRefused', true],
    [71, 'Trainer.EnvironmentDiffers', true],
    [74, 'Trainer.DiskFull', false],
    [78, 'Trainer.CannotStart', true],
    [1, 'Trainer.Died', false],
    [143, 'Trainer.Died', false],
  ])('exit code %i is %s', async (code, type, nonRetryable) => {
    process.env['FAKE_TRAINER'] = `exit ${code}`;
    await expect(train()).rejects.toMatchObject({ type, nonRetryable });
  });

  test('a training that learned nothing ends with its reason, at every attempt, and its adapter is not kept', async () => {
    process.env['FAKE_NOTHING'] = 'in 8 iterations the gradient was 0';
    const expected = {
      ...{ type: 'Trainer.NothingLearned', nonRetryable: true },
      message: expect.stringContaining('The training of stamps learned nothing: in 8 iterations the gradient was 0.'),
    };
    await expect(train()).rejects.toMatchObject(expected);
    delete process.env['FAKE_NOTHING'];
    await expect(train()).rejects.toMatchObject(expected);
    expect(starts()).toBe(1);
    expect(existsSync(fixture.store.localPath(layout.adapters(input.context.agent)))).toBe(false);
  });

  test('a training that learned a safe partial reward ends with it, unless that reward is a success', async () => {
    process.env['FAKE_PARTIAL'] = '0.5';
    await expect(train()).rejects.toMatchObject({
      ...{ type: 'Trainer.PartialReward', nonRetryable: true },
      message: expect.stringContaining('at its end every rollout earned 0.50, and a success earns 1 or more.'),
    });
    const prepared = await getJson(fixture.store, input.context.spec, preparedSpecSchema);
    prepared.spec.environment.successReward = 0.5;
    const spec = await putJson(fixture.store, 'runs/run-1', 'spec.json', prepared);
    const context = { ...input.context, spec };
    expect(await train(undefined, { ...input, context })).toMatchObject({ capabilityId: 'stamps' });
  });

  test('cancellation stops the trainer after its checkpoint', async () => {
    hold();
    const activity = fixture.activity();
    const running = train(activity);
    await started();
    activity.cancel('CANCELLED');
    await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
    expect(await trainerState(directory())).toEqual({ status: 'ended', code: 143 });
    expect(existsSync(join(directory(), 'manifest.json'))).toBe(false);
  });

  test('a trainer that ignores SIGTERM is killed after the grace time', async () => {
    process.env['FAKE_TRAINER'] = 'hang';
    const activity = fixture.activity();
    const running = fixture.run(activities(300).trainAdapter, input, activity);
    await started();
    await until(() => readFileSync(join(directory(), 'trainer.log'), 'utf8').includes('it ignores SIGTERM'));
    activity.cancel('CANCELLED');
    await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
    await until(async () => (await trainerState(directory())).status !== 'running');
  });

  test('two attempts at once share one trainer', async () => {
    const [one, two] = await Promise.all([train(), train()]);
    expect(two).toEqual(one);
    expect(starts()).toBe(1);
  });

  test('the trainer does not get what looks like a secret', async () => {
    process.env['SOME_API_KEY'] = 'x';
    try {
      hold();
      const running = train();
      await started();
      const pid = readFileSync(join(directory(), 'starts.txt'), 'utf8').trim();
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      expect(environment).toContain('PYTHONPATH=');
      expect(environment).not.toContain('SOME_API_KEY');
      release();
      await running;
    } finally {
      delete process.env['SOME_API_KEY'];
    }
  });
});
