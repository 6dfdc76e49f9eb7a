// Tier: integration (real processes, fake cluster, fake trainer).
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MockActivityEnvironment } from '@temporalio/testing';
import { createTrainActivities } from '../../../activities/train';
import { KubernetesBackend } from '../../../activities/train/kubernetes-backend';
import { LocalBackend } from '../../../activities/train/local-backend';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import type { AgentSpecInput } from '../../../contracts/config/agent-spec';
import type { RunContext } from '../../../contracts/messages/run-context';
import { RunFixture } from '../run-fixture';
import { FakeCluster, fakeTrainer } from '../../fakes/kubernetes-cluster';
import { TrainingFiles, until } from './training-files';
import { openPolicy } from '../../helpers/open-policy';

const root = join(__dirname, '..', '..', '..');

describe('packed trainings on a cluster', () => {
  let fixture: RunFixture;
  const files = new TrainingFiles(() => fixture);
  let fake: FakeCluster;
  let context: RunContext;

  const pack = async (training: AgentSpecInput['training'] = {}, kubernetes: object = {}) => {
    context = await fixture.prepare('http://127.0.0.1:9/v1', {
      training: {
        iterations: 8,
        packing: 2,
        packingWaitSeconds: 3_600,
        backend: 'kubernetes',
        kubernetes: {
          image: 'trainer',
          store: { hostPath: fixture.folder },
          graceSeconds: 5,
          // Only root can change the owner of directories, so the pod runs as this process's user.
          runAsUser: process.getuid?.() || 65_534,
          ...kubernetes,
        },
        ...training,
      },
    });
  };
  beforeEach(() => {
    fixture = new RunFixture();
    fake = new FakeCluster(fakeTrainer(root));
  });
  afterEach(async () => {
    delete process.env['FAKE_TRAINER'];
    delete process.env['FAKE_HOLD'];
    fake.dispose();
    await fixture.dispose();
  });

  /** One attempt of a training, on a worker of its own. */
  const train = async (
    job: string,
    activity: MockActivityEnvironment = fixture.activity(),
  ): Promise<TrainedAdapter> => {
    const source = await fixture.store.put(
      `runs/run-1/environments/${job}`,
      'environment.py',
      `class Environment: ... # ${job}\n`,
    );
    const { trainAdapter } = createTrainActivities({
      store: fixture.store,
      backends: {
        local: new LocalBackend({
          trainer: { python: 'none', pythonPath: 'none' },
          jailProfile: 'none',
        }),
        kubernetes: new KubernetesBackend({
          storeRoot: fixture.folder,
          policy: openPolicy,
          openCluster: async () => fake.cluster,
          reports: null,
        }),
      },
    });
    return fixture.run(trainAdapter, { context, job, environments: [{ id: job, source }], budgetFactor: 1 }, activity);
  };
  const jobsOf = (index: number): string[] =>
    (fake.made[index]!.spec!.template.spec!.containers[0]!.args ?? []).filter((arg) => arg !== '--job');
  const isTold = (job: string) =>
    until(() =>
      fixture.heartbeats.some(({ note, reason }) => note?.includes(`train ${job}:`) && reason?.kind === 'Training'),
    );
  const ofEight = [1, 2, 3, 4, 5, 6, 7, 8];

  test('a pack is one Job, whichever worker creates it, and each training has its own result and progress', async () => {
    await pack();
    process.env['FAKE_HOLD'] = 'letters stamps';
    const both = [train('stamps'), train('letters')];
    await Promise.all([isTold('stamps'), isTold('letters')]);
    for (const job of ['stamps', 'letters']) files.go(job);
    const [stamps, letters] = await Promise.all(both);
    expect(stamps!.sha256).not.toBe(letters!.sha256);
    expect(fake.made).toHaveLength(1);
    expect(fake.made[0]!.metadata!.name).toMatch(/^whet-pack-/);
    expect(jobsOf(0)).toHaveLength(2);
    await until(() => readdirSync(join(files.packs()[0]!, 'cluster')).some((name) => name.startsWith('outcome-')));
  });

  test('a training that fails alone has its own failure, and the Job goes on for the others', async () => {
    await pack();
    process.env['FAKE_TRAINER'] = 'fail stamps 66';
    const [stamps, letters] = await Promise.allSettled([train('stamps'), train('letters')]);
    expect(stamps).toMatchObject({
      reason: { type: 'Trainer.Diverged', message: expect.stringContaining('not finite after iteration 3') as string },
    });
    expect(letters.status).toBe('fulfilled');
    expect(fake.made).toHaveLength(1);
    expect(files.starts('letters')).toHaveLength(1);
  });

  test('an exception of one training waits for a person, a crash of it does not', async () => {
    await pack();
    process.env['FAKE_TRAINER'] = 'fail stamps 1';
    const ends = await Promise.allSettled([train('stamps'), train('letters')]);
    expect(ends).toMatchObject([{ reason: { type: 'Trainer.Failed', nonRetryable: true } }, { status: 'fulfilled' }]);
    process.env['FAKE_TRAINER'] = 'fail scales 137';
    const more = await Promise.allSettled([train('scales'), train('weights')]);
    expect(more).toMatchObject([{ reason: { type: 'Trainer.Died', nonRetryable: false } }, { status: 'fulfilled' }]);
    await until(() => fake.active.length === 0);
    delete process.env['FAKE_TRAINER'];
    await expect(train('scales')).resolves.toMatchObject({ capabilityId: 'scales' });
  });

  test('a proxy that the cluster added to the pod ends with its only training', async () => {
    await pack({ packing: 1 });
    fake.withProxy = true;
    await train('letters');
    expect(fake.active).toEqual([]);
  });

  test('a proxy that the cluster added to the pod ends with the last training of a pack', async () => {
    await pack();
    fake.withProxy = true;
    process.env['FAKE_HOLD'] = 'letters';
    const letters = train('letters');
    await train('stamps');
    expect(fake.active).toHaveLength(1);
    files.go('letters');
    await letters;
    expect(fake.made).toHaveLength(1);
    expect(fake.active).toEqual([]);
  });

  test('what ends the whole trainer is the same failure for all members, and no attempt starts it again', async () => {
    await pack();
    process.env['FAKE_TRAINER'] = 'exit 1';
    const both = await Promise.allSettled([train('stamps'), train('letters')]);
    for (const end of both) {
      expect(end).toMatchObject({
        status: 'rejected',
        reason: {
          type: 'Trainer.Failed',
          nonRetryable: true,
          message: expect.stringMatching(/shared by letters and stamps was given up/) as string,
        },
      });
    }
    expect(fake.made).toHaveLength(1);
    expect(fake.active).toEqual([]);
  });

  test('a worker that was away while the trainer was given up reads the recorded failure', async () => {
    await pack({ packingWaitSeconds: 1 });
    process.env['FAKE_HOLD'] = 'letters stamps';
    const away = fixture.activity();
    const stamps = train('stamps', away);
    const letters = train('letters');
    await Promise.all([isTold('stamps'), isTold('letters')]);
    away.cancel('WORKER_SHUTDOWN');
    await expect(stamps).rejects.toThrow('WORKER_SHUTDOWN');
    writeFileSync(join(files.packs()[0]!, 'verdict.json'), '{"type": "Trainer.OutOfMemory", "message": "too large"}');
    await expect(letters).rejects.toMatchObject({ type: 'Trainer.OutOfMemory' });
    await expect(train('stamps')).rejects.toMatchObject({ type: 'Trainer.OutOfMemory', message: 'too large' });
    // The last member to leave stopped the trainer.
    expect(fake.active).toEqual([]);
    expect(fake.made).toHaveLength(1);
  });

  test('an evicted pack is replaced without the members that have left, and the disruption counts once', async () => {
    await pack({ packing: 3 });
    process.env['FAKE_TRAINER'] = 'fail stamps 66';
    process.env['FAKE_HOLD'] = 'letters scales';
    const others = [train('letters'), train('scales')];
    await expect(train('stamps')).rejects.toMatchObject({ type: 'Trainer.Diverged' });
    await Promise.all([files.reaches('letters', 4), files.reaches('scales', 4), isTold('letters'), isTold('scales')]);
    fake.evict();
    await until(() => fake.made.length === 2);
    for (const job of ['letters', 'scales']) files.go(job);
    await Promise.all(others);
    expect(fake.made).toHaveLength(2);
    expect(fake.made[1]!.metadata!.name).toBe(fake.made[0]!.metadata!.name);
    expect(jobsOf(1)).toEqual([`${files.directory('letters')}/job.json`, `${files.directory('scales')}/job.json`]);
    expect(files.iterations('letters')).toEqual(ofEight);
    expect(JSON.parse(readFileSync(join(files.packs()[0]!, 'restarts.json'), 'utf8'))).toMatchObject({
      disruptions: 1,
      stalls: 0,
    });
  });

  test('a cancelled training leaves the Job to the others; a Job that no member needs is deleted', async () => {
    await pack();
    process.env['FAKE_HOLD'] = 'letters stamps';
    const cancelled = fixture.activity();
    const stamps = train('stamps', cancelled);
    const letters = train('letters');
    await Promise.all([isTold('stamps'), isTold('letters')]);
    cancelled.cancel('CANCELLED');
    await expect(stamps).rejects.toMatchObject({ name: 'CancelledFailure' });
    expect(fake.active).toHaveLength(1);
    await until(() => existsSync(join(files.directory('stamps'), 'failure.json')));
    files.go('letters');
    await letters;
    // A cancelled member is no failure of the trainer, so Kubernetes does not start the trainer again.
    await until(() => fake.active.length === 0);
    expect(fake.made).toHaveLength(1);
  });

  test('when all members are cancelled the pods are gone', async () => {
    await pack();
    process.env['FAKE_HOLD'] = 'letters stamps';
    const activities = [fixture.activity(), fixture.activity()] as const;
    const both = [train('stamps', activities[0]), train('letters', activities[1])];
    await Promise.all([isTold('stamps'), isTold('letters')]);
    for (const activity of activities) activity.cancel('CANCELLED');
    for (const end of await Promise.allSettled(both))
      expect(end).toMatchObject({ reason: { name: 'CancelledFailure' } });
    expect(fake.active).toEqual([]);
  });

  test('a training whose own time is over leaves the pack, and its next attempt has a Job of its own', async () => {
    await pack({}, { limits: { trainingMinutes: 0.05 } });
    process.env['FAKE_HOLD'] = 'letters stamps';
    const ends = await Promise.allSettled([train('stamps'), train('letters')]);
    for (const end of ends) expect(end).toMatchObject({ reason: { type: 'Trainer.Deadline' } });
    expect(fake.active).toEqual([]);
    files.go('stamps');
    await expect(train('stamps')).resolves.toMatchObject({ capabilityId: 'stamps' });
    expect(fake.made.at(-1)!.metadata!.name).toMatch(/^whet-stamps-/);
  });
});
