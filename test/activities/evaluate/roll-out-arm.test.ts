// Tier: integration (real environment runtime, fake model server).
import { rollOutArm } from '../../../activities/evaluate/roll-out-arm';
import { routeTasks } from '../../../activities/evaluate/route-tasks';
import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { doNothingSchema } from '../../../contracts/artifacts/do-nothing';
import { routingRecordSchema } from '../../../contracts/artifacts/evaluation';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import type { ArmRollouts } from '../../../contracts/messages/evaluate-stage';
import { getJson, getLines, putLines } from '../../../store';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { RunFixture } from '../run-fixture';
import { logitsRouter } from './logits-router';
import { storedAdapter } from './stored-adapter';

describe('evaluation rollouts', () => {
  let fixture: RunFixture;
  let server: FakePolicyServer;
  let heavy: TrainedAdapter;
  let light: TrainedAdapter;
  const spec = { evaluation: { trials: 2, concurrency: 8 } };

  beforeEach(async () => {
    fixture = new RunFixture();
    [heavy, light] = [await storedAdapter(fixture, 'heavy'), await storedAdapter(fixture, 'light')];
    const play = parcelPolicy((model) => (model === 'base' ? 0.3 : 1));
    server = await new FakePolicyServer((request) =>
      request.structured_outputs ? { content: 'A', labels: { A: 0.5, ' A': 0.1, B: 0.2, x: 0.1 } } : play(request),
    ).start();
  });
  afterEach(async () => {
    await server.stop();
    await fixture.dispose();
  });

  const trajectoriesOf = async (ref: Parameters<typeof getLines>[1]) => getLines(fixture.store, ref, trajectorySchema);

  test('arms meet the same tasks with the same sampling seeds', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    const base = await fixture.run(rollOutArm.bind(null, fixture.deps), {
      context,
      arm: 'base',
      kind: 'base',
      adapters: [],
      routing: null,
    });
    const one = await fixture.run(rollOutArm.bind(null, fixture.deps), {
      context,
      arm: heavy.name,
      kind: 'adapter',
      adapters: [heavy],
      routing: null,
    });
    const [a, b] = [await trajectoriesOf(base.rollouts.trajectories), await trajectoriesOf(one.rollouts.trajectories)];
    expect(a.map(({ task, trial, samplingSeed }) => [task, trial, samplingSeed])).toEqual(
      b.map(({ task, trial, samplingSeed }) => [task, trial, samplingSeed]),
    );
    expect(a).toHaveLength(20);
    expect(new Set(b.map(({ model }) => model))).toEqual(new Set([heavy.name]));
    expect(one.rollouts.successes).toBe(20);
    expect(base.rollouts.successes).toBeLessThan(20);
    expect(server.loads).toEqual([{ lora_name: heavy.name, lora_path: fixture.store.localPath(heavy.key) }]);
  });

  test('beside base an agent that does nothing plays the held-out tasks, once for all runs of this environment', async () => {
    const base = { arm: 'base', kind: 'base' as const, adapters: [], routing: null };
    let opened = 0;
    const deps = {
      ...fixture.deps,
      openEnvironment: (environment: Parameters<typeof fixture.deps.openEnvironment>[0]) => {
        opened++;
        return fixture.deps.openEnvironment(environment);
      },
    };
    const first = await fixture.run(rollOutArm.bind(null, deps), {
      ...base,
      context: await fixture.prepare(server.baseUrl, spec),
    });
    const played = await getJson(fixture.store, first.doNothing!, doNothingSchema);
    expect(played.outcomes.map(({ seed }) => seed)).toEqual(Array.from({ length: 10 }, (_, task) => 1000 + task));
    expect(played.outcomes.filter(({ passed }) => passed)).toEqual([]);
    expect(opened).toBe(2);
    // The model was asked by base alone.
    expect(server.requests.every(({ model }) => model === 'base')).toBe(true);
    const later = await fixture.run(rollOutArm.bind(null, deps), {
      ...base,
      context: await fixture.prepare(server.baseUrl, spec, undefined, 'run-2'),
    });
    expect(opened).toBe(3);
    expect(await getJson(fixture.store, later.doNothing!, doNothingSchema)).toEqual({ ...played, reusedFrom: 'run-1' });
    const other = await fixture.run(rollOutArm.bind(null, deps), {
      ...{ ...base, arm: heavy.name, kind: 'adapter' as const, adapters: [heavy] },
      context: await fixture.prepare(server.baseUrl, spec, undefined, 'run-3'),
    });
    expect(other.doNothing).toBeUndefined();
  });

  test('base is judged without it where the environment raises at an agent that calls nothing', async () => {
    await server.stop();
    server = await new FakePolicyServer(() => ({ calls: [{ name: 'weigh', arguments: { parcel: 'P1' } }] })).start();
    const context = await fixture.prepare(server.baseUrl, spec, 'calls_only_desk.py');
    const input = { context, arm: 'base', kind: 'base' as const, adapters: [], routing: null };
    const attempt = (number: number) =>
      fixture.run(rollOutArm.bind(null, fixture.deps), input, fixture.activity({ attempt: number }));
    // What the environment needs may come back.
    await expect(attempt(1)).rejects.toMatchObject({ type: 'Environment.Failed', nonRetryable: false });
    const { rollouts, doNothing } = await attempt(10);
    expect(rollouts).toMatchObject({ episodes: 20, successes: 20 });
    expect(await getJson(fixture.store, doNothing!, doNothingSchema)).toEqual({ outcomes: [], failed: { raised: 10 } });
  });

  test('an arm has as many trials as the plan says, the first with the sampling seeds of fewer', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    const arm = { context, arm: 'base', kind: 'base' as const, adapters: [], routing: null };
    const two = await fixture.run(rollOutArm.bind(null, fixture.deps), arm);
    const again = await fixture.prepare(server.baseUrl, spec, undefined, 'run-2');
    const three = await fixture.run(rollOutArm.bind(null, fixture.deps), {
      ...arm,
      context: again,
      heldOut: { trials: 3 },
    });
    const seedsOf = async ({ rollouts }: ArmRollouts) =>
      (await trajectoriesOf(rollouts.trajectories)).map((one) => [one.task.seed, one.trial, one.samplingSeed]);
    const played = await seedsOf(three);
    expect(played).toHaveLength(30);
    expect(played.filter(([, trial]) => trial! < 2)).toEqual(await seedsOf(two));
  });

  test('tasks are routed and played that the plan names, in its order', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    const seeds = [
      { start: 1008, count: 2 },
      { start: 1000, count: 1 },
    ];
    const heldOut = { trials: 1, seeds };
    const capabilities = [{ id: 'heavy', name: 'Heavy', summary: 'heavy parcels' }];
    const router = await logitsRouter(fixture.store, capabilities);
    const input = { context, capabilities, router, name: 'routing', heldOut };
    const { routing, tasks } = await fixture.run(routeTasks.bind(null, fixture.deps), input);
    expect(tasks).toBe(3);
    const routed = { arm: 'routed', kind: 'routed' as const, adapters: [heavy], routing };
    const { rollouts } = await fixture.run(rollOutArm.bind(null, fixture.deps), { context, ...routed, heldOut });
    const played = (await trajectoriesOf(rollouts.trajectories)).map(({ task }) => task.seed);
    expect(played.sort()).toEqual([1000, 1008, 1009]);
  });

  test('the routed arm uses, per task, what the routing says', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    const records = Array.from({ length: 10 }, (_, index) => ({
      seed: 1000 + index,
      capabilityId: ['heavy', 'light', 'none'][index % 3]!,
      probabilities: [1, 0, 0],
      coveredMass: 1,
    }));
    const routing = await putLines(fixture.store, 'runs/run-1/evaluation', 'routing.jsonl', records);
    const routed = await fixture.run(rollOutArm.bind(null, fixture.deps), {
      context,
      arm: 'routed',
      kind: 'routed',
      adapters: [heavy, light],
      routing,
    });
    const models = (await trajectoriesOf(routed.rollouts.trajectories))
      .filter(({ trial }) => trial === 0)
      .map(({ model }) => model);
    expect(models).toEqual(
      records.map(({ capabilityId }) => ({ heavy: heavy.name, light: light.name, none: 'base' })[capabilityId]),
    );
    expect([...server.adapters].sort()).toEqual([heavy.name, light.name]);
  });

  test('a policy server that is killed during an arm gets the adapter again and the arm ends the same', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    const input = { context, arm: heavy.name, kind: 'adapter' as const, adapters: [heavy], routing: null };
    const undisturbed = await fixture.run(rollOutArm.bind(null, fixture.deps), input);
    const again = await fixture.prepare(server.baseUrl, spec, undefined, 'run-2');
    server.requests.length = 0;
    server.holdAfter = 9;
    const running = fixture.run(rollOutArm.bind(null, fixture.deps), { ...input, context: again });
    while (server.held === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.stop();
    server.release();
    await server.start();
    expect((await running).rollouts.trajectories.sha256).toBe(undisturbed.rollouts.trajectories.sha256);
    expect(server.loads).toHaveLength(2);
  });

  test('routing asks once per task, renormalises over the menu and keeps what it has', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    const capabilities = [
      { id: 'heavy', name: 'Heavy', summary: 'heavy parcels' },
      { id: 'light', name: 'Light', summary: 'light parcels' },
    ];
    const router = await logitsRouter(fixture.store, capabilities);
    const input = { context, capabilities, router, name: 'routing' };
    const { routing, tasks } = await fixture.run(routeTasks.bind(null, fixture.deps), input);
    expect(tasks).toBe(10);
    expect(server.requests).toHaveLength(10);
    expect(server.requests[0]).toMatchObject({
      max_tokens: 1,
      temperature: 0,
      top_logprobs: 20,
      structured_outputs: { choice: ['A', 'B', 'C'] },
    });
    expect(server.requests[0]!.messages[0]!.content).toMatch(
      /^Which skill does this task need\?\nTask: please send parcel P\d+\nA: heavy parcels\n/,
    );
    const records = await getLines(fixture.store, routing, routingRecordSchema);
    expect(records[3]).toEqual({ seed: 1003, capabilityId: 'heavy', probabilities: [0.75, 0.25, 0], coveredMass: 0.8 });
    await fixture.run(routeTasks.bind(null, fixture.deps), input);
    expect(server.requests).toHaveLength(10);
  });

  test.each([
    [
      'truncated',
      (path: string) => truncateSync(join(path, 'adapter_model.safetensors'), 20),
      'safetensors is truncated',
    ],
    ['empty', (path: string) => truncateSync(join(path, 'adapter_model.safetensors'), 0), 'it has 0 bytes'],
    ['without weights', (path: string) => rmSync(join(path, 'adapter_model.safetensors')), 'no file of weights'],
    ['half a configuration', (path: string) => writeFileSync(join(path, 'adapter_config.json'), '{"r'), 'is not JSON'],
    ['another one', (path: string) => writeFileSync(join(path, 'adapter_config.json'), '{"r":1}'), 'another hash'],
    ['deleted', (path: string) => rmSync(path, { recursive: true }), 'does not exist'],
  ])('an adapter that is damaged (%s) is Store.Corrupt and never loaded', async (_, damage, words) => {
    const context = await fixture.prepare(server.baseUrl, spec);
    damage(fixture.store.localPath(heavy.key));
    const arm = { context, arm: heavy.name, kind: 'adapter' as const, adapters: [heavy], routing: null };
    const failure = fixture.run(rollOutArm.bind(null, fixture.deps), arm);
    await expect(failure).rejects.toMatchObject({ type: 'Store.Corrupt', nonRetryable: true });
    await expect(failure).rejects.toThrow(fixture.store.localPath(heavy.key));
    await expect(failure).rejects.toThrow(words);
    expect(server.loads).toHaveLength(0);
  });

  test('an arm without its adapter is a programming error', async () => {
    const context = await fixture.prepare(server.baseUrl, spec);
    const failure = fixture.run(rollOutArm.bind(null, fixture.deps), {
      context,
      arm: 'x',
      kind: 'mixed',
      adapters: [],
      routing: null,
    });
    await expect(failure).rejects.toThrow(/needs exactly one adapter/);
  });
});
