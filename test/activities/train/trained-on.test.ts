// Tier: integration (real processes, fake trainer).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTrainActivities } from '../../../activities/train';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import type { TrainInput } from '../../../contracts/messages/sharpen-stage';
import { addVersion, changeRegistry } from '../../../store';
import { RunFixture } from '../run-fixture';
import { fakeBackend, stampsTraining } from './fake-backend';

describe('an adapter that is served, and is to be trained on', () => {
  let fixture: RunFixture;
  let input: TrainInput;

  beforeEach(async () => {
    fixture = new RunFixture();
    input = await stampsTraining(fixture);
  });
  afterEach(() => fixture.dispose());

  const train = (what = input) => {
    const local = fakeBackend({ graceMs: 60_000 });
    const { trainAdapter } = createTrainActivities({ store: fixture.store, backends: { local } });
    return fixture.run(trainAdapter, what);
  };
  const trainIn = async (runId: string, spec: object = { training: { iterations: 8 } }) =>
    train({ ...input, context: await fixture.prepare('http://127.0.0.1:9/v1', spec, undefined, runId) });
  const serve = ({ name, capabilityId, key, sha256 }: TrainedAdapter) =>
    changeRegistry(fixture.store, input.context.agent, (registry) =>
      addVersion(registry, {
        ...{ runId: `run-of-${name}`, createdAt: '2026-11-24T03:00:00.000Z', baseModelSha256: '0'.repeat(64) },
        adapters: [{ name, capabilityId, summary: 'stamps', key, sha256 }],
        routedMinusBase: { estimate: 0.2, low: 0.1, high: 0.3 },
        judgedRouter: {
          kind: 'base',
          artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
        },
      }),
    );
  const goOn = async (runId: string, { sha256 }: TrainedAdapter, spec: object = {}) => {
    const training = { iterations: 8, ...spec };
    const context = await fixture.prepare('http://127.0.0.1:9/v1', { training }, undefined, runId);
    return train({ ...input, context, continues: sha256 });
  };

  test('is trained on although its content was trained before, once', async () => {
    const first = await train();
    await serve(first);
    const further = await goOn('run-2', first);
    expect(further.reusedFrom).toBeUndefined();
    expect(further.beginsFrom).toEqual({ name: first.name, version: 1 });
    expect(further.sha256).not.toBe(first.sha256);
    // Executed again, and in a later night that serves the same adapter, it is not paid for again.
    expect(await goOn('run-2', first)).toEqual(further);
    expect(await goOn('run-3', first)).toMatchObject({ sha256: further.sha256, reusedFrom: 'run-2' });
    const jobs = fixture.store.localPath('runs/run-2/training');
    const starts = readdirSync(jobs).map((job) => readFileSync(join(jobs, job, 'starts.txt'), 'utf8'));
    expect(starts.map((lines) => lines.trim().split('\n').length)).toEqual([1]);
    expect((await trainIn('run-4')).sha256).toBe(first.sha256);
  });

  test('is what later runs take, once the one that was trained further is served', async () => {
    const first = await train();
    await serve(first);
    const further = await goOn('run-2', first);
    await serve(further);
    expect(await trainIn('run-3')).toMatchObject({ sha256: further.sha256, reusedFrom: 'run-2' });
    // It can be trained on in its turn.
    const third = await goOn('run-4', further);
    expect(third.beginsFrom).toEqual({ name: further.name, version: 2 });
    await serve(third);
    expect(await goOn('run-4', further)).toEqual(third);
  });

  test('begins from the one that is named, whatever is active by now', async () => {
    const first = await train();
    await serve(first);
    const other = await trainIn('run-b', { training: { iterations: 4 } });
    await serve(other);
    expect((await goOn('run-2', first)).beginsFrom).toEqual({ name: first.name, version: 1 });
  });

  test('is left alone where trainings begin from zero', async () => {
    const first = await train();
    await serve(first);
    expect(await goOn('run-2', first, { warmStart: false })).toMatchObject({ sha256: first.sha256 });
  });

  test('on content that was not trained before, its key is the plain one', async () => {
    const first = await train();
    await serve(first);
    const other = await goOn('run-2', first, { iterations: 4 });
    expect(other.beginsFrom).toEqual({ name: first.name, version: 1 });
    expect(await trainIn('run-3', { training: { iterations: 4 } })).toMatchObject({ reusedFrom: 'run-2' });
  });
});
