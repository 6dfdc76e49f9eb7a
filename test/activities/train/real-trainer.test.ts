// Tier: integration (the real trainer, in the jail, on a tiny random model).
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { modelDirectorySha256 } from '../../../store/model-hash';
import { createTrainActivities } from '../../../activities/train';
import { LocalBackend } from '../../../activities/train/local-backend';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { trainingManifestSchema } from '../../../contracts/artifacts/training';
import type { TrainInput } from '../../../contracts/messages/sharpen-stage';
import { addVersion, changeRegistry, getJson, layout, putJson } from '../../../store';
import { RunFixture } from '../run-fixture';

const root = join(__dirname, '..', '..', '..');
const python = process.env['WHET_PYTHON'] ?? join(root, '.toolchain', 'venv', 'bin', 'python');
const ITERATIONS = 40;
const fixtures = join(root, 'test', 'trainer-image', 'fixtures');

describe('trainAdapter with the real trainer', () => {
  const fixture = new RunFixture();
  let input: TrainInput;

  beforeAll(async () => {
    const model = join(fixture.folder, 'model');
    const make =
      'import sys; from pathlib import Path; from tiny_model import make_model; make_model(Path(sys.argv[1]), 4, True)';
    execFileSync(python, ['-c', make, model], { env: { ...process.env, PYTHONPATH: fixtures } });
    const context = await fixture.prepare('http://127.0.0.1:9/v1', {
      training: {
        rank: 8,
        groups: 2,
        rolloutsPerGroup: 4,
        // Enough that most are still ahead when the first checkpoint is seen, however fast the machine is.
        iterations: ITERATIONS,
        warmupIterations: 1,
        learningRate: 0.001,
        maxCompletionTokens: 12,
        checkpointEvery: 2,
      },
    });
    const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
    const spec = await putJson(fixture.store, layout.run('run-1'), 'spec.json', {
      ...prepared,
      modelPath: model,
      baseModelSha256: await modelDirectorySha256(model),
    });
    const source = await fixture.store.put(
      'runs/run-1/environments/letters',
      'environment.py',
      readFileSync(join(fixtures, 'letters.py')),
    );
    input = {
      context: { ...context, spec },
      job: 'letters',
      environments: [{ id: 'letters', source }],
      budgetFactor: 1,
    };
  });
  afterAll(() => fixture.dispose());

  const { trainAdapter } = createTrainActivities({
    store: fixture.store,
    backends: {
      local: new LocalBackend({
        trainer: { python, pythonPath: join(root, 'trainer-image') },
        jailProfile: join(root, 'sandbox', 'profile.json'),
      }),
    },
  });
  const training = fixture.store.localPath('runs/run-1/training');
  const directory = (): string => join(training, readdirSync(training)[0]!);
  /** Its checkpoints, as soon as there is a directory for them. */
  const checkpoints = (): string[] => {
    try {
      return readdirSync(join(directory(), 'checkpoints')).filter((name) => !name.startsWith('.'));
    } catch {
      return [];
    }
  };

  test('a cancelled job keeps a checkpoint, and the next attempt resumes from it and finishes', async () => {
    const activity = fixture.activity();
    const cancelled = fixture.run(trainAdapter, input, activity).catch((error: unknown) => error);
    let ended = false;
    void cancelled.finally(() => (ended = true));
    while (!ended && checkpoints().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    activity.cancel('CANCELLED');
    expect(await cancelled).toMatchObject({ name: 'CancelledFailure' });
    expect(existsSync(join(directory(), 'manifest.json'))).toBe(false);
    expect(checkpoints().length).toBeGreaterThan(0);

    const resumed = await fixture.run(trainAdapter, input);
    expect(resumed.rollouts).toBe(ITERATIONS * 8);
    expect(await getJson(fixture.store, resumed.manifest, trainingManifestSchema)).toMatchObject({
      iterations: ITERATIONS,
      adapterSha256: resumed.sha256,
    });
    expect(readdirSync(fixture.store.localPath(resumed.key))).toContain('adapter_model.safetensors');
  });

  test('a training of another length begins from the adapter that is served', async () => {
    const served = await fixture.run(trainAdapter, input);
    const { baseModelSha256 } = await getJson(fixture.store, input.context.spec, preparedSpecSchema);
    await changeRegistry(fixture.store, input.context.agent, (registry) =>
      addVersion(registry, {
        runId: 'run-0',
        createdAt: '2026-11-24T03:00:00.000Z',
        baseModelSha256,
        adapters: [
          { name: served.name, capabilityId: 'letters', summary: 'letters', key: served.key, sha256: served.sha256 },
        ],
        routedMinusBase: { estimate: 0.2, low: 0.1, high: 0.3 },
        judgedRouter: {
          kind: 'base',
          artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
        },
      }),
    );
    const again = await fixture.run(trainAdapter, { ...input, budgetFactor: 0.1 });
    expect(again.beginsFrom).toEqual({ name: served.name, version: 1 });
    const { curve, ...manifest } = await getJson(fixture.store, again.manifest, trainingManifestSchema);
    expect(manifest).toMatchObject({ iterations: 4, beginsFrom: { sha256: served.sha256 } });
    // Its first policy is not the base model.
    expect(curve[0]!.kl).toBeGreaterThan(0);
    expect(readdirSync(training).flatMap((name) => readdirSync(join(training, name)))).not.toContain('beginning');
  });

  test('a job that the trainer refuses says why', async () => {
    const prepared = await getJson(fixture.store, input.context.spec, preparedSpecSchema);
    const spec = await putJson(fixture.store, layout.run('run-1'), 'spec.json', {
      ...prepared,
      modelPath: join(fixture.folder, 'nowhere'),
    });
    const failure = fixture.run(trainAdapter, { ...input, job: 'other', context: { ...input.context, spec } });
    await expect(failure).rejects.toMatchObject({
      type: 'Trainer.JobInvalid',
      message: expect.stringContaining('nowhere is not a model directory') as string,
    });
  });
});
