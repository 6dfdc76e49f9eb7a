// tier: integration (store on disk).
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import type { TrainingJob } from '../../../contracts/artifacts/training';
import type { TrainInput } from '../../../contracts/messages/sharpen-stage';
import { removeWarmStart, withWarmStart } from '../../../activities/train/warm-start';
import type { PlannedJob } from '../../../activities/train/training-job';
import { addVersion, changeRegistry } from '../../../store';
import { modelDirectorySha256 } from '../../../store/model-hash';
import { RunFixture } from '../run-fixture';

const BASE = 'a'.repeat(64);
const input = { context: { agent: 'parcels' }, job: 'heavy' } as TrainInput;

describe('what a training begins from', () => {
  let fixture: RunFixture;
  let planned: PlannedJob;
  let sha256: string;

  const prepared = (warmStart = true, baseModelSha256 = BASE) =>
    ({ baseModelSha256, spec: { training: { warmStart } } }) as PreparedSpec;
  const begin = (of = prepared(), training = input) => withWarmStart(fixture.store, of, training, planned);
  const beginsFrom = async (...given: Parameters<typeof begin>) => (await begin(...given)).job.beginsFrom;

  beforeEach(async () => {
    fixture = new RunFixture();
    const directory = fixture.store.localPath('runs/run-2/heavy');
    await mkdir(directory, { recursive: true });
    planned = { key: 'runs/run-2/heavy', directory, job: { jobId: 'run-2/heavy' } as TrainingJob, sources: new Map() };
    const adapter = fixture.store.localPath('adapters/parcels/heavy-1');
    await mkdir(adapter, { recursive: true });
    await writeFile(join(adapter, 'adapter_model.safetensors'), 'weights');
    sha256 = await modelDirectorySha256(adapter);
    await promote('heavy@1', 'adapters/parcels/heavy-1', sha256);
  });
  afterEach(() => fixture.dispose());

  const promote = (name: string, key: string, hash: string) =>
    changeRegistry(fixture.store, 'parcels', (registry) =>
      addVersion(registry, {
        runId: `run-of-${name}`,
        createdAt: '2026-11-24T03:00:00.000Z',
        baseModelSha256: BASE,
        adapters: [{ name, capabilityId: 'heavy', summary: 'heavy parcels', key, sha256: hash }],
        routedMinusBase: { estimate: 0.2, low: 0.1, high: 0.3 },
        judgedRouter: {
          kind: 'base',
          artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
        },
      }),
    );

  it('is a copy of the adapter that the active version has for the capability', async () => {
    const path = join(planned.directory, 'beginning');
    expect(await beginsFrom()).toEqual({
      ...{ name: 'heavy@1', version: 1, key: 'adapters/parcels/heavy-1' },
      ...{ sha256, path },
    });
    expect(await modelDirectorySha256(path)).toBe(sha256);
    // A worker died in the middle of the copy.
    await writeFile(join(path, 'adapter_model.safetensors'), 'wei');
    await begin();
    expect(await modelDirectorySha256(path)).toBe(sha256);
    await removeWarmStart(planned.directory);
    await expect(modelDirectorySha256(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is zero for a new capability, on another base model, or where agent.yaml says so', async () => {
    expect(await beginsFrom(prepared(), { ...input, job: 'light' })).toBeUndefined();
    expect(await beginsFrom(prepared(true, 'b'.repeat(64)))).toBeUndefined();
    expect(await beginsFrom(prepared(false))).toBeUndefined();
    expect(await begin(prepared(false))).toBe(planned);
  });

  it('stays what the first attempt began from, whatever is active by now', async () => {
    const { job } = await begin();
    await writeFile(join(planned.directory, 'job.json'), JSON.stringify(job));
    await promote('heavy@2', 'adapters/parcels/heavy-2', 'c'.repeat(64));
    expect(await beginsFrom()).toMatchObject({ name: 'heavy@1', version: 1 });
    // A job of a release that knew of no beginning goes on from zero.
    await writeFile(join(planned.directory, 'job.json'), JSON.stringify({ jobId: 'run-2/heavy' }));
    expect(await beginsFrom()).toBeUndefined();
  });

  it('is never of another agent, whatever a job file says', async () => {
    const { job } = await begin();
    const { beginsFrom: own } = job;
    const foreign = { ...job, beginsFrom: { ...own, key: 'adapters/letters/heavy-1', path: '/elsewhere' } };
    await writeFile(join(planned.directory, 'job.json'), JSON.stringify(foreign));
    expect(await beginsFrom()).toBeUndefined();
  });

  it('is zero where the job file cannot be read', async () => {
    for (const text of ['{"jobId"', '{"beginsFrom": {"key": 1}}', 'null']) {
      await writeFile(join(planned.directory, 'job.json'), text);
      expect(await beginsFrom()).toBeUndefined();
    }
  });

  it("is left to the trainer where the adapter's files are gone", async () => {
    await rm(fixture.store.localPath('adapters/parcels/heavy-1'), { recursive: true });
    expect(await beginsFrom()).toMatchObject({ name: 'heavy@1' });
  });
});
