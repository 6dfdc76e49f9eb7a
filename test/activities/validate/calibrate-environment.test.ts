// Tier: jail (real jail and runtime, fake model server).
import { readFileSync } from 'node:fs';
import { createValidationActivities } from '../../../activities/validate';
import { calibrationResultSchema } from '../../../contracts';
import { getJson } from '../../../store';
import { FakeModelServer, parcelPolicy } from '../fake-model-server';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

const capability = { id: 'stamps', name: 'Stamps', summary: 'count the stamps' };

describe('calibrateEnvironment', () => {
  let fixture: RunFixture;
  let server: FakeModelServer;
  const spec = { calibration: { seeds: 10, rolloutsPerSeed: 4 }, collect: { concurrency: 16 }, training: { temperature: 0.7, maxCompletionTokens: 33 } };

  const calibrate = async (share: number, file = 'parcel_desk.py', options = spec) => {
    server = await new FakeModelServer(parcelPolicy(() => share)).start();
    const context = await fixture.prepare(server.baseUrl, options);
    const source = await fixture.store.put('runs/run-1/environments/stamps', 'environment.py', readFileSync(fixturePath(file)));
    const outcome = await fixture.run(createValidationActivities(fixture.deps).calibrateEnvironment, { context, capability, source });
    return { outcome, result: await getJson(fixture.store, outcome.detail, calibrationResultSchema) };
  };

  beforeEach(() => {
    fixture = new RunFixture();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  test('an agent that succeeds now and then is in band', async () => {
    const { outcome, result } = await calibrate(0.4);
    expect(result.problems).toEqual([]);
    expect(outcome.inBand).toBe(true);
    expect(outcome.outcome).toMatch(/^in-band: mean reward 0\.\d\d, success 0\.\d\d, informative groups \d\.\d\d \(40 rollouts\)$/);
    expect(outcome).toMatchObject({ promptTokens: 800, completionTokens: 400 });
    expect(result).toMatchObject({ seeds: 10, rolloutsPerSeed: 4 });
    expect(result.groupMeans).toHaveLength(10);
    expect(server.requests[0]).toMatchObject({ temperature: 0.7, max_tokens: 33 });
  });

  test('an agent that always succeeds: too easy, with the numbers', async () => {
    const { outcome, result } = await calibrate(1);
    expect(outcome.inBand).toBe(false);
    expect(result.verdict).toBe('too-easy');
    expect(result.problems[0]).toContain('mean reward is 1.00, above 0.60');
  });

  test('an environment that raises on some tasks and dies on others ends those episodes only, and is not accepted', async () => {
    const { outcome, result } = await calibrate(0.5, 'raising_desk.py');
    expect(outcome.inBand).toBe(false);
    // Seed 3 raises, seed 5 ends the process; four rollouts of each.
    expect(result.problems[0]).toMatch(/^The environment failed in 8 of 40 rollouts, in 4 of them by ending or hanging: .*ZeroDivisionError/);
    expect(result.groupMeans).toEqual([0, 1, 0, 0, 0, 0, 0, 1, 0, 1]);
  });

  test('an environment that keeps dying is given up', async () => {
    const { outcome, result } = await calibrate(0.5, 'raising_desk.py', { ...spec, calibration: { seeds: 30, rolloutsPerSeed: 4 } });
    expect(outcome.inBand).toBe(false);
    expect(outcome.outcome).toMatch(/^unusable: The environment hung or died in 6 episodes/);
    expect(result.problems).toHaveLength(1);
  });
});
