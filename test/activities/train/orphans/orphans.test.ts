// Tier: integration (real processes, fake trainer, fake cluster, real Temporal server).
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { createTrainActivities } from '../../../../activities/train';
import { KubernetesBackend } from '../../../../activities/train/kubernetes-backend';
import { LocalBackend } from '../../../../activities/train/local-backend';
import { readRunStatus, type ReadRunStatus } from '../../../../activities/train/orphans/run-over';
import { stopOrphanJobs } from '../../../../activities/train/orphans/stop-jobs';
import { stopOrphanProcesses } from '../../../../activities/train/orphans/stop-processes';
import { trainerState } from '../../../../activities/train/trainer-process';
import type { AgentSpecInput } from '../../../../contracts/config/agent-spec';
import { repairWorkflowId, TASK_QUEUES, WORKFLOWS } from '../../../../contracts/names';
import { FakeCluster, fakeTrainer } from '../../../fakes/kubernetes-cluster';
import { startTemporal } from '../../../helpers/temporal';
import { RunFixture } from '../../run-fixture';
import { until } from '../training-files';
import { openPolicy } from '../../../helpers/open-policy';

const root = join(__dirname, '..', '..', '..', '..');
const { path: pythonPath, script } = fakeTrainer(root);

let fixture: RunFixture;
let fake: FakeCluster;
beforeEach(() => {
  fixture = new RunFixture();
  fake = new FakeCluster({ path: pythonPath, script });
  // Trainers that no test outlives.
  process.env['FAKE_HOLD'] = 'stamps letters';
});
afterEach(async () => {
  delete process.env['FAKE_HOLD'];
  delete process.env['FAKE_TRAINER'];
  await stopOrphanProcesses(fixture.folder, over, 0);
  fake.dispose();
  await fixture.dispose();
});

const over: ReadRunStatus = () => Promise.resolve('over');
const open: ReadRunStatus = () => Promise.resolve('open');
const unknown: ReadRunStatus = () => Promise.resolve('unknown');

/** Starts a training and loses its worker: the trainer goes on. Returns the training's directory. */
async function orphan(training: AgentSpecInput['training'] = {}, job = 'stamps'): Promise<string> {
  const context = await fixture.prepare('http://127.0.0.1:9/v1', { training: { iterations: 400, ...training } });
  const source = await fixture.store.put(`runs/run-1/environments/${job}`, 'environment.py', '# none\n');
  const activity = fixture.activity();
  const { trainAdapter } = createTrainActivities({
    store: fixture.store,
    backends: {
      local: new LocalBackend({
        trainer: { python: 'python3', pythonPath, arguments: [script] },
        jailProfile: join(root, 'sandbox', 'profile.json'),
      }),
      kubernetes: new KubernetesBackend({
        storeRoot: fixture.folder,
        policy: openPolicy,
        openCluster: async () => fake.cluster,
        reports: null,
      }),
    },
  });
  const input = { context, job, environments: [{ id: job, source }], budgetFactor: 1 };
  const running = fixture.run(trainAdapter, input, activity).catch(() => undefined);
  const trainings = fixture.store.localPath('runs/run-1/training');
  const directory = () => join(trainings, readdirSync(trainings).find((name) => name.startsWith(job)) ?? 'none');
  await until(() => existsSync(trainings) && existsSync(join(directory(), 'progress.jsonl')));
  activity.cancel('WORKER_SHUTDOWN');
  await running;
  return directory();
}

describe('trainers of this machine', () => {
  test('a trainer whose run has ended saves a checkpoint and ends', async () => {
    const directory = await orphan();
    expect((await trainerState(directory)).status).toBe('running');
    expect(await stopOrphanProcesses(fixture.folder, over)).toEqual(['run-1']);
    expect(await trainerState(directory)).toEqual({ status: 'ended', code: 143 });
    expect(await stopOrphanProcesses(fixture.folder, over)).toEqual([]);
  });

  test('a trainer whose run is open is left alone', async () => {
    const directory = await orphan();
    expect(await stopOrphanProcesses(fixture.folder, open)).toEqual([]);
    expect((await trainerState(directory)).status).toBe('running');
  });

  test('nothing is stopped when Temporal does not answer', async () => {
    const directory = await orphan();
    await expect(stopOrphanProcesses(fixture.folder, () => Promise.reject(new Error('no answer')))).rejects.toThrow(
      'no answer',
    );
    expect((await trainerState(directory)).status).toBe('running');
  });

  test('a run that Temporal does not know loses its trainer only when no worker follows it', async () => {
    const directory = await orphan();
    expect(await stopOrphanProcesses(fixture.folder, unknown)).toEqual([]);
    expect((await trainerState(directory)).status).toBe('running');
    const longAgo = new Date(Date.now() - 2 * 3_600_000);
    utimesSync(join(directory, 'attended'), longAgo, longAgo);
    expect(await stopOrphanProcesses(fixture.folder, unknown)).toEqual(['run-1']);
  });

  test('a trainer that a person started by hand is left alone', async () => {
    const directory = await orphan();
    expect(await stopOrphanProcesses(fixture.folder, over)).toEqual(['run-1']);
    const { WHET_WORKER_VERSION: _, ...environment } = process.env;
    const own = spawn('python3', [script, '--job', join(directory, 'job.json')], {
      env: { ...environment, PYTHONPATH: pythonPath },
      stdio: 'ignore',
    });
    try {
      await until(() => readFileSync(join(directory, 'starts.txt'), 'utf8').includes(`${own.pid}\n`));
      expect(await stopOrphanProcesses(fixture.folder, over)).toEqual([]);
      expect(own.exitCode).toBeNull();
    } finally {
      own.kill('SIGKILL');
    }
  });

  test('the trainers of another store are left alone', async () => {
    const directory = await orphan();
    expect(await stopOrphanProcesses(`${fixture.folder}-other`, over)).toEqual([]);
    expect(await stopOrphanProcesses(join(fixture.folder, 'runs'), over)).toEqual([]);
    expect((await trainerState(directory)).status).toBe('running');
  });

  test('two workers may look at once', async () => {
    const directory = await orphan();
    await Promise.all([stopOrphanProcesses(fixture.folder, over), stopOrphanProcesses(fixture.folder, over)]);
    expect(await trainerState(directory)).toEqual({ status: 'ended', code: 143 });
  });

  test('a trainer that does not listen is killed after the grace time', async () => {
    process.env['FAKE_TRAINER'] = 'hang';
    const directory = await orphan();
    await until(() => readFileSync(join(directory, 'trainer.log'), 'utf8').includes('it ignores SIGTERM'));
    await stopOrphanProcesses(fixture.folder, over, 500);
    await until(async () => (await trainerState(directory)).status !== 'running');
  });
});

describe('trainer Jobs', () => {
  const onCluster = (kubernetes: object = {}): AgentSpecInput['training'] => ({
    backend: 'kubernetes',
    kubernetes: {
      namespace: 'training',
      image: 'trainer',
      store: { hostPath: fixture.folder },
      graceSeconds: 5,
      runAsUser: process.getuid?.() || 65_534,
      ...kubernetes,
    },
  });
  const stopJobs = (read: ReadRunStatus, storeRoot = fixture.folder) =>
    stopOrphanJobs(storeRoot, async () => fake.cluster, read);

  test('the Job of a run that has ended is deleted, and its trainer saves a checkpoint', async () => {
    const directory = await orphan(onCluster());
    expect(await stopJobs(open)).toEqual([]);
    expect(fake.active).toHaveLength(1);
    expect(await stopJobs(over)).toEqual(['run-1']);
    await until(() => fake.active.length === 0);
    expect(existsSync(join(directory, 'manifest.json'))).toBe(false);
    expect(await stopJobs(over)).toEqual([]);
  });

  test('a Job of another store in the same namespace is left alone', async () => {
    await orphan(onCluster());
    const other = join(fixture.folder, 'other');
    mkdirSync(join(other, 'training-namespaces'), { recursive: true });
    writeFileSync(join(other, 'training-namespaces', 'training'), '');
    expect(await stopJobs(over, other)).toEqual([]);
    expect(fake.active).toHaveLength(1);
  });

  test('a cluster is not opened where the store has had no training on one', async () => {
    const opened = jest.fn();
    expect(await stopOrphanJobs(fixture.folder, opened, over)).toEqual([]);
    expect(opened).not.toHaveBeenCalled();
  });
});

describe('whether a run is over', () => {
  let temporal: TestWorkflowEnvironment;
  beforeAll(async () => void (temporal = await startTemporal()));
  afterAll(() => temporal.teardown());

  const start = (workflowId: string, type: string) =>
    temporal.client.workflow.start(type, { workflowId, taskQueue: TASK_QUEUES.orchestration, args: [] });
  const status = (runId: string) => readRunStatus(temporal.client, runId);

  test('it is open until it ends or is terminated, and as long as it is repaired', async () => {
    expect(await status('run-9')).toBe('unknown');
    const run = await start('run-9', WORKFLOWS.improvementRun);
    expect(await status('run-9')).toBe('open');
    await run.terminate();
    expect(await status('run-9')).toBe('over');
    const repair = await start(repairWorkflowId('run-9'), WORKFLOWS.repairArtifacts);
    expect(await status('run-9')).toBe('open');
    await repair.terminate();
    expect(await status('run-9')).toBe('over');
  });
});
