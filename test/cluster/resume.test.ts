// Tier: cluster. Pods that are deleted, workers that share a Job, a training that is cancelled, and manifests checked
// by the API server.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { trainingManifestSchema, type TrainingProgress } from '../../contracts/artifacts/training';
import { buildJob } from '../../k8s/job-manifest';
import { getJson } from '../../store';
import { request } from '../k8s/cluster-objects';
import { ClusterFixture } from './cluster-fixture';
import { pause } from './cluster-runs';

/** How often the pod is deleted. Each deletion costs a start of the trainer. */
const DELETIONS = Number(process.env['WHET_CLUSTER_DELETIONS'] ?? 10);
const ITERATIONS = 20 + 20 * DELETIONS;

describe('a training whose pods are deleted', () => {
  const fixture = new ClusterFixture();
  beforeAll(() => fixture.start(), 120_000);
  afterAll(() => fixture.dispose(), 120_000);

  const podsWith = async (labelSelector: string) =>
    (await fixture.core.listNamespacedPod({ namespace: fixture.namespace, labelSelector })).items;
  const pods = (capability: string) => podsWith(`whetstone.dev/capability=${capability}`);
  const lines = (job: string, runId = 'run-1'): TrainingProgress[] => {
    try {
      return readFileSync(join(fixture.directory(job, runId), 'progress.jsonl'), 'utf8')
        .split('\n')
        .filter((line) => line.endsWith('}'))
        .map((line) => JSON.parse(line) as TrainingProgress);
    } catch {
      return [];
    }
  };
  const last = (job: string, runId = 'run-1'): number => lines(job, runId).at(-1)?.iteration ?? 0;
  const until = async (condition: () => boolean | Promise<boolean>, seconds = 180): Promise<void> => {
    for (const end = Date.now() + seconds * 1_000; !(await condition()); await pause(30))
      if (Date.now() > end) throw new Error(`not within ${seconds} s`);
  };

  test(`${DELETIONS} deletions at random iterations repeat at most one iteration each and change nothing`, async () => {
    const training = { iterations: ITERATIONS, checkpointEvery: 1 };
    const calm = fixture.run.run(
      fixture.activities().trainAdapter,
      await fixture.input('calm', { ...training, backend: 'local' }),
    );
    // Another run, because the seed follows from the job's name.
    const input = await fixture.input('calm', training, { runId: 'run-2' });
    const startedMs = Date.now();
    const running = fixture.run.run(fixture.activities().trainAdapter, input);
    // Both are awaited at the end. Until then an unhandled rejection would end jest.
    for (const one of [calm, running]) one.catch(() => undefined);
    const done = (): number => last('calm', 'run-2');
    const table: string[] = [];
    let repeated = 0;
    for (let deletion = 1; deletion <= DELETIONS; deletion++) {
      // A random iteration in this deletion's share of the run.
      const at = Math.floor(20 * (deletion - 1) + 2 + Math.random() * 15);
      await until(() => done() >= at);
      const pod = (await pods('calm')).find(
        ({ status, metadata }) => status?.phase === 'Running' && metadata?.deletionTimestamp === undefined,
      );
      if (pod === undefined) throw new Error('There should be a pod.');
      // Alternately with a grace period, in which the trainer saves a checkpoint, and without one.
      const graceSeconds = deletion % 2 === 0 ? 0 : undefined;
      await fixture.cluster.deletePod(fixture.namespace, pod.metadata!.name!, graceSeconds);
      await until(async () =>
        (await pods('calm')).some(
          ({ metadata, status }) => metadata?.name !== pod.metadata!.name && status?.phase === 'Running',
        ),
      );
      const reached = done();
      const begun = Date.now();
      let lowest = reached;
      await until(() => {
        lowest = Math.min(lowest, done());
        return done() > reached || done() === ITERATIONS;
      });
      repeated += reached - lowest;
      table.push(
        `${deletion}. at iteration ${reached}${graceSeconds === 0 ? ', no grace' : ''}: ${reached - lowest} ` +
          'repeated, ' +
          `next iteration after ${((Date.now() - begun) / 1_000).toFixed(1)} s of loading`,
      );
      expect(reached - lowest).toBeLessThanOrEqual(1);
    }
    const [adapter, undisturbed] = [await running, await calm];
    const wallSeconds = (Date.now() - startedMs) / 1_000;
    // Each deletion also costs the iteration that was under way.
    const steps = ITERATIONS / (ITERATIONS + repeated + DELETIONS);
    const stepSeconds = lines('calm', 'run-2').reduce(
      (sum, line) => sum + line.secondsGeneration + line.secondsUpdate,
      0,
    );
    const words = [
      `effective step time at least ${(100 * steps).toFixed(1)} % ` +
        `(${repeated} of ${ITERATIONS} iterations repeated, at most ${DELETIONS} cut)`,
      `${stepSeconds.toFixed(0)} s of iterations in ${wallSeconds.toFixed(0)} s; the rest are ${DELETIONS + 1} starts`,
    ];
    process.stdout.write(`\n${[...table, ...words].join('\n')}\n\n`);
    expect(adapter.sha256).toBe(undisturbed.sha256);
    expect(steps).toBeGreaterThan(0.9);
    const curve = async (ref: typeof adapter.manifest) =>
      (await getJson(fixture.run.store, ref, trainingManifestSchema)).curve;
    expect(await curve(adapter.manifest)).toEqual(await curve(undisturbed.manifest));
  }, 900_000);

  test('two trainings in one Job: both survive a deletion of its pod and end like each alone on this machine', async () => {
    const names = ['scales', 'stamps'];
    const training = { iterations: 40, checkpointEvery: 1 };
    const train = (runId: string, changes: object) =>
      Promise.all(
        names.map(async (name) =>
          fixture.run.run(
            fixture.activities().trainAdapter,
            await fixture.input(name, { ...training, ...changes }, { runId }),
          ),
        ),
      );
    const packed = train('run-3', { packing: 2 });
    await Promise.race([until(() => names.every((name) => last(name, 'run-3') >= 3)), packed]);
    const [pod, ...others] = await podsWith('whetstone.dev/pack=2');
    expect(others).toEqual([]);
    await fixture.cluster.deletePod(fixture.namespace, pod!.metadata!.name!);
    const here = await train('run-4', { backend: 'local' });
    expect((await packed).map(({ sha256 }) => sha256)).toEqual(here.map(({ sha256 }) => sha256));
    for (const name of names)
      expect(lines(name, 'run-3').map(({ iteration }) => iteration)).toEqual(
        Array.from({ length: 40 }, (_, index) => index + 1),
      );
  });

  test('two workers attach to one Job and get one result', async () => {
    const input = await fixture.input('shared', { iterations: 30 });
    const [one, two] = await Promise.all([
      fixture.run.run(fixture.activities().trainAdapter, input),
      fixture.run.run(fixture.activities().trainAdapter, input),
    ]);
    expect(two).toEqual(one);
    expect(await pods('shared')).toHaveLength(1);
  });

  test('cancelling deletes the pod within its grace period, after a checkpoint', async () => {
    const activity = fixture.run.activity();
    const running = fixture.run.run(
      fixture.activities().trainAdapter,
      await fixture.input('cancelled', { iterations: 2_000, checkpointEvery: 1_000 }),
      activity,
    );
    const ended = running.catch((error: unknown) => error);
    await until(() => last('cancelled') >= 3);
    const begun = Date.now();
    activity.cancel('CANCELLED');
    expect(await ended).toMatchObject({ name: 'CancelledFailure' });
    expect(await pods('cancelled')).toEqual([]);
    // graceSeconds of the fixture is 10; the kubelet needs a little longer.
    expect(Date.now() - begun).toBeLessThan(25_000);
    process.stdout.write(`cancel: pod gone after ${((Date.now() - begun) / 1_000).toFixed(1)} s\n`);
    expect(readFileSync(join(fixture.directory('cancelled'), 'progress.jsonl'), 'utf8')).not.toBe('');
  });

  test.each([
    ['as it is', {}],
    [
      'with everything set',
      {
        queue: 'gpus',
        nodeSelector: { pool: 'gpu' },
        tolerations: [{ key: 'spot', operator: 'Exists', effect: 'NoSchedule' }],
        priorityClass: 'system-cluster-critical',
        runtimeClass: 'gvisor',
        imagePullSecrets: ['registry'],
        seccomp: 'localhost/whetstone-trainer.json',
        volumes: [{ claim: 'models', subPath: 'a', mountPath: '/models' }],
      },
    ],
  ])('the API server accepts the manifest %s', async (_, changes) => {
    const accepted = await fixture.cluster.applyJob(buildJob(request({ namespace: fixture.namespace, ...changes })), {
      validateOnly: true,
    });
    expect(accepted.spec?.template.spec?.automountServiceAccountToken).toBe(false);
  });

  test('the API server refuses a manifest with an unknown field, and its message is kept', async () => {
    const job = buildJob(request({ namespace: fixture.namespace }));
    const wrong = { ...job, spec: { ...job.spec!, backoffLimt: 3 } };
    await expect(fixture.cluster.applyJob(wrong, { validateOnly: true })).rejects.toMatchObject({
      name: 'ClusterRefused',
      message: expect.stringContaining('backoffLimt') as string,
    });
  });
});
