// Tier: integration (real trainer in real processes and jails, fake cluster).
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MockActivityEnvironment } from '@temporalio/testing';
import { createTrainActivities } from '../../../../activities/train';
import { KubernetesBackend } from '../../../../activities/train/kubernetes-backend';
import { LocalBackend } from '../../../../activities/train/local-backend';
import { preparedSpecSchema } from '../../../../contracts/artifacts/prepared-spec';
import { trialJobSchema } from '../../../../contracts/artifacts/training';
import type { AgentSpecInput } from '../../../../contracts/config/agent-spec';
import { projectVersion } from '../../../../contracts/project-version';
import type { RunContext } from '../../../../contracts/messages/run-context';
import { getJson, layout, putJson } from '../../../../store';
import { modelDirectorySha256 } from '../../../../store/model-hash';
import { FakeCluster } from '../../../fakes/kubernetes-cluster';
import { RunFixture } from '../../run-fixture';
import { until } from '../training-files';
import { openPolicy } from '../../../helpers/open-policy';

const root = join(__dirname, '..', '..', '..', '..');
const trainer = { python: 'python3', pythonPath: join(root, 'trainer-image') };
const jailProfile = join(root, 'sandbox', 'profile.json');

let fixture: RunFixture;
let model: string;
let fake: FakeCluster;

beforeEach(() => {
  fixture = new RunFixture();
  model = join(fixture.folder, 'model');
  mkdirSync(model);
  writeFileSync(join(model, 'config.json'), '{"model_type": "llama"}');
  writeFileSync(join(model, 'model.safetensors'), 'weights');
  const script = join(fixture.folder, 'real_trainer.py');
  writeFileSync(script, 'import runpy\nrunpy.run_module("whetstone.train", run_name="__main__")\n');
  fake = new FakeCluster({ path: trainer.pythonPath, script });
});
afterEach(async () => {
  fake.dispose();
  await fixture.dispose();
});

async function prepare(training: AgentSpecInput['training'] = {}): Promise<RunContext> {
  const context = await fixture.prepare('http://127.0.0.1:9/v1', { training });
  const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
  const baseModelSha256 = await modelDirectorySha256(model);
  const changed = { ...prepared, modelPath: model, baseModelSha256 };
  return { ...context, spec: await putJson(fixture.store, layout.run('run-1'), 'spec.json', changed) };
}

const onCluster = (kubernetes: object = {}): AgentSpecInput['training'] => ({
  backend: 'kubernetes',
  kubernetes: {
    image: 'trainer',
    store: { hostPath: fixture.folder },
    resources: { gpus: 0 },
    graceSeconds: 5,
    // Only root can change the owner of directories, so the pod runs as this process's user.
    runAsUser: process.getuid?.() || 65_534,
    ...kubernetes,
  },
});

const activities = () =>
  createTrainActivities({
    store: fixture.store,
    backends: {
      local: new LocalBackend({ trainer, jailProfile }),
      kubernetes: Object.assign(
        new KubernetesBackend({
          storeRoot: fixture.folder,
          policy: openPolicy,
          openCluster: async () => fake.cluster,
          reports: null,
        }),
        // The profile of the image is not there on this machine.
        { jailProfile },
      ),
    },
  });
const attempt = (context: RunContext, activity: MockActivityEnvironment = fixture.activity()) =>
  fixture.run(activities().tryTraining, context, activity);

const trials = (): string => fixture.store.localPath('runs/run-1/trial');
/** The folder of all trials is there for a moment before the folder of the first one. */
const directory = (): string => join(trials(), (existsSync(trials()) ? readdirSync(trials())[0] : undefined) ?? 'none');
const says = (pattern: RegExp) =>
  until(() =>
    fixture.heartbeats.some(({ note, reason }) => pattern.test(`${note} ${reason?.kind} ${reason?.message}`)),
  );

describe('a trial on this machine', () => {
  test('tries what a training needs, and leaves what it found', async () => {
    const found = await attempt(await prepare());
    expect(found).toMatchObject({
      jobId: 'run-1/trial',
      trainerVersion: projectVersion(),
      devices: [],
      modelFiles: 2,
      jail: true,
    });
    expect(JSON.parse(readFileSync(join(directory(), 'manifest.json'), 'utf8'))).toEqual(found);
    const job = trialJobSchema.parse(JSON.parse(readFileSync(join(directory(), 'job.json'), 'utf8')));
    expect(job.trial.gpus).toBe(0);
    expect(job.trial.modelFiles.map(({ name }) => name)).toEqual(['config.json', 'model.safetensors']);
    expect(fixture.heartbeats.at(-1)).toMatchObject({ stage: 'collect', note: 'trial of a trainer' });
    // No training has a directory yet.
    expect(existsSync(fixture.store.localPath('runs/run-1/training'))).toBe(false);
  });

  test('an attempt that finds what an earlier one has found starts no trainer', async () => {
    const context = await prepare();
    const found = await attempt(context);
    const log = readFileSync(join(directory(), 'trainer.stat'), 'utf8');
    expect(await attempt(context)).toEqual(found);
    expect(readFileSync(join(directory(), 'trainer.stat'), 'utf8')).toBe(log);
  });

  test('a base model that the trainer does not see is Trainer.CannotStart', async () => {
    const context = await prepare();
    const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
    const elsewhere = { ...prepared, modelPath: join(fixture.folder, 'absent') };
    const spec = await putJson(fixture.store, layout.run('run-1'), 'spec.json', elsewhere);
    const failed = attempt({ ...context, spec });
    await expect(failed).rejects.toMatchObject({ type: 'Trainer.CannotStart', nonRetryable: true });
    await expect(failed).rejects.toThrow(
      /^The trial of a trainer ended with code 78 .* `whet retry` tries again, once the cause is gone\..*base model/s,
    );
  });

  test('another base model than the run began with is Model.Changed, before a trainer starts', async () => {
    const context = await prepare();
    writeFileSync(join(model, 'model.safetensors'), 'others');
    await expect(attempt(context)).rejects.toMatchObject({ type: 'Model.Changed' });
    expect(existsSync(trials())).toBe(false);
  });

  test('a Python without the packages fails with its own words', async () => {
    const { tryTraining } = createTrainActivities({
      store: fixture.store,
      backends: {
        local: new LocalBackend({ trainer: { ...trainer, pythonPath: '/nowhere' }, jailProfile }),
      },
    });
    await expect(fixture.run(tryTraining, await prepare())).rejects.toThrow(/No module named .*whetstone/);
  });

  test('cancelling it stops its trainer', async () => {
    const context = await prepare();
    const { tryTraining } = createTrainActivities({
      store: fixture.store,
      backends: {
        local: new LocalBackend({
          trainer: { ...trainer, arguments: ['-c', 'import time; print("hangs", flush=True); time.sleep(600)'] },
          jailProfile,
          // On a busy machine the wrapper may need more than the usual 15 s to record the end; SIGKILL would forbid it.
          graceMs: 60_000,
        }),
      },
    });
    const activity = fixture.activity();
    const running = fixture.run(tryTraining, context, activity);
    await until(() => existsSync(join(directory(), 'trainer.log')));
    await until(() => readFileSync(join(directory(), 'trainer.log'), 'utf8').includes('hangs'));
    activity.cancel('CANCELLED');
    await expect(running).rejects.toMatchObject({ name: 'CancelledFailure' });
    expect(existsSync(join(directory(), 'trainer.exit'))).toBe(true);
  });
});

describe('a trial on a cluster', () => {
  test('runs in the same kind of pod as a training', async () => {
    const found = await attempt(await prepare(onCluster({ nodeSelector: { pool: 'gpu' } })));
    expect(found).toMatchObject({ jobId: 'run-1/trial', jail: true });
    expect(fake.made).toHaveLength(1);
    const [made] = fake.made;
    expect(made?.metadata?.name).toMatch(/^whet-trial-[0-9a-f]{12}$/);
    const pod = made?.spec?.template.spec;
    expect(pod?.nodeSelector).toEqual({ pool: 'gpu' });
    expect(pod?.containers[0]?.args).toEqual(['--job', join(directory(), 'job.json')]);
  });

  test('a GPU that torch does not see is Trainer.CannotStart, and the Job is left with its log', async () => {
    const failed = attempt(await prepare(onCluster({ resources: { gpus: 1 } })));
    await expect(failed).rejects.toMatchObject({ type: 'Trainer.CannotStart', nonRetryable: true });
    await expect(failed).rejects.toThrow(/^The trial of a trainer was given up \(CodeError\): .*code 78/);
    expect(readdirSync(join(directory(), 'cluster')).join(' ')).toMatch(/outcome-.*\.json.*\.log/);
    expect(JSON.parse(readFileSync(join(directory(), 'failure.json'), 'utf8'))).toMatchObject({
      message: expect.stringMatching(/^1 GPU was asked for .* sees 0/) as string,
    });
  });

  test('an image that cannot be pulled is Trainer.CannotStart', async () => {
    const failed = attempt(await prepare(onCluster({ image: 'absent', limits: { imageMinutes: 0.01 } })));
    await expect(failed).rejects.toMatchObject({ type: 'Trainer.CannotStart', nonRetryable: true });
    await expect(failed).rejects.toThrow(
      /^The trial of a trainer was given up \(ImagePull\): The image could not be pulled .*absent: not found\. `whet retry`/,
    );
    expect(fake.active).toEqual([]);
    // A person corrects the image: what was tried before does not stand in the way.
    await expect(attempt(await prepare(onCluster()))).resolves.toMatchObject({ jail: true });
  });

  test('a queued trial says so, and goes on when it is admitted', async () => {
    const running = attempt(await prepare(onCluster({ queue: 'gpus' })));
    await says(/^trial of a trainer: Queued, queue gpus has not admitted the Job/);
    fake.admit();
    await expect(running).resolves.toMatchObject({ jail: true });
  });
});
