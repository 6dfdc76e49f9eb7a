// tier: integration
import { promoteAdapters } from '../../../activities/promote';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { TrainedAdapter } from '../../../contracts/artifacts/training';
import type { PromoteInput } from '../../../contracts/messages/evaluate-stage';
import {
  activateVersion,
  addVersion,
  changeRegistry,
  emptyRegistry,
  endCanary,
  layout,
  type LocalStore,
  putJson,
  readRegistry,
  rollbackVersion,
  startCanary,
  StoreConflictError,
} from '../../../store';
import { sampleEvaluation, samplePlan } from '../evaluate/sample-evaluation';
import { RunFixture } from '../run-fixture';
import type { Router } from '../../../routing/kinds';

const EVALUATION = sampleEvaluation(120);
const ROUTER = { kind: 'base', leftOut: [] };
const HASH = 'b'.repeat(64);
const version = (runId: string) => ({
  runId,
  createdAt: '2026-11-21T03:00:00.000Z',
  baseModelSha256: HASH,
  adapters: [],
  routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
  judgedRouter: {
    kind: 'base' as const,
    artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
  },
});
const registryOf = (...runIds: string[]) =>
  runIds.reduce((registry, runId) => addVersion(registry, version(runId)).registry, emptyRegistry('desk'));

/** A router that gives conversations to the adapter `verify` and to the mixed one. */
function outcomesMixed(leftOut: string[]): Router {
  const model = { bias: 0, weights: { positions: [], values: [] } };
  const arms = ['verify', 'mixed'].map((capabilityId) => ({ capabilityId, model, variances: [0] }));
  const vocabulary = { terms: [], weights: [] };
  return { kind: 'outcomes-mixed', leftOut, vocabulary, base: model, arms, doubt: 0.3, margin: 0.05 };
}

describe('registry transitions', () => {
  it('number versions from one and activate the new one', () => {
    const registry = registryOf('run-1', 'run-2');
    expect(registry.versions.map((v) => v.version)).toEqual([1, 2]);
    expect(registry.active).toBe(2);
  });

  it('add one version a run, and leave a rollback in between alone', () => {
    const rolledBack = rollbackVersion(registryOf('run-1', 'run-2')).registry;
    const again = addVersion(rolledBack, version('run-2'));
    expect(again).toEqual({ registry: rolledBack, changed: false, result: 2 });
    expect(again.registry.active).toBe(1);
  });

  it('roll back to the next lower version, then to the base model, then no further', () => {
    const three = activateVersion(registryOf('run-1', 'run-2', 'run-3'), 3).registry;
    const two = rollbackVersion(three).registry;
    const one = rollbackVersion(two).registry;
    const base = rollbackVersion(one).registry;
    expect([two.active, one.active, base.active]).toEqual([2, 1, null]);
    expect(() => rollbackVersion(base)).toThrow('nothing to roll back');
    expect(base.versions).toHaveLength(3);
  });

  it('refuse a version that is not there, naming those that are', () => {
    expect(() => activateVersion(registryOf('run-1', 'run-2'), 7)).toThrow(
      'no version 7 in its registry (versions: 1, 2)',
    );
  });
});

describe('the registry in the store', () => {
  let fixture: RunFixture;
  beforeEach(() => (fixture = new RunFixture()));
  afterEach(() => fixture.dispose());

  it('starts empty and is written only when something changes', async () => {
    expect(await readRegistry(fixture.store, 'desk')).toEqual(emptyRegistry('desk'));
    await changeRegistry(fixture.store, 'desk', (registry) => ({ registry, changed: false, result: null }));
    expect(await fixture.store.readDocument(layout.registry('desk'))).toBeNull();
  });

  it('keeps both of two promotions at the same time', async () => {
    await Promise.all(
      ['run-1', 'run-2', 'run-3'].map((runId) =>
        changeRegistry(fixture.store, 'desk', (registry) => addVersion(registry, version(runId))),
      ),
    );
    const { versions } = await readRegistry(fixture.store, 'desk');
    expect(versions.map((v) => v.runId).sort()).toEqual(['run-1', 'run-2', 'run-3']);
    expect(versions.map((v) => v.version)).toEqual([1, 2, 3]);
  });

  it('promotes and rolls back by number', async () => {
    for (const runId of ['run-1', 'run-2'])
      await changeRegistry(fixture.store, 'desk', (registry) => addVersion(registry, version(runId)));
    expect((await changeRegistry(fixture.store, 'desk', rollbackVersion)).result).toBe(1);
    expect(
      (await changeRegistry(fixture.store, 'desk', (registry) => activateVersion(registry, 2))).registry.active,
    ).toBe(2);
    await expect(changeRegistry(fixture.store, 'desk', (registry) => activateVersion(registry, 3))).rejects.toThrow(
      'no version 3',
    );
  });
});

describe('promoteAdapters', () => {
  let fixture: RunFixture;
  beforeEach(() => (fixture = new RunFixture()));
  afterEach(() => fixture.dispose());

  async function input(): Promise<PromoteInput> {
    const context = await fixture.prepare('http://127.0.0.1:1');
    const evaluation = await putJson(fixture.store, layout.evaluation('run-1'), 'evaluation.json', EVALUATION);
    const adapter: TrainedAdapter = {
      name: 'verify@bbbbbbbbbbbb',
      capabilityId: 'verify',
      sha256: HASH,
      key: 'adapters/parcels/verify-bbbbbbbbbbbb',
      manifest: evaluation,
      rollouts: 640,
      seconds: 20,
      finalReward: 0.9,
    };
    return {
      context,
      evaluation,
      adapters: [adapter],
      capabilities: [{ id: 'verify', name: 'Verify', summary: 'verify the customer before a refund' }],
      router: await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', ROUTER),
    };
  }

  it('writes what the gateway needs, once, however often it is called', async () => {
    const value = await input();
    expect(await promoteAdapters(fixture.store, value)).toEqual({ version: 1 });
    expect(await promoteAdapters(fixture.store, value)).toEqual({ version: 1 });
    expect(await readRegistry(fixture.store, 'parcels')).toEqual({
      agent: 'parcels',
      active: 1,
      versions: [
        {
          version: 1,
          runId: 'run-1',
          createdAt: expect.any(String),
          replaced: null,
          baseModelSha256: '0'.repeat(64),
          adapters: [
            {
              name: 'verify@bbbbbbbbbbbb',
              capabilityId: 'verify',
              summary: 'verify the customer before a refund',
              key: 'adapters/parcels/verify-bbbbbbbbbbbb',
              sha256: HASH,
            },
          ],
          routedMinusBase: EVALUATION.routedMinusBase,
          judgedRouter: { kind: 'base' as const, artifact: value.router },
        },
      ],
    });
  });

  it('leaves out the adapters that the router leaves out', async () => {
    const value = await input();
    const router = await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', {
      ...ROUTER,
      leftOut: ['verify'],
    });
    await promoteAdapters(fixture.store, { ...value, router });
    expect((await readRegistry(fixture.store, 'parcels')).versions[0]?.adapters).toEqual([]);
  });

  const judgedAgainst = (value: PromoteInput, active: number | null) =>
    putJson(fixture.store, layout.evaluation('run-1'), 'evaluation.json', {
      ...EVALUATION,
      plan: samplePlan({ active }),
    }).then((evaluation) => ({ ...value, evaluation }));

  it('changes nothing when another version is active than the one that it was compared with', async () => {
    const value = await input();
    await changeRegistry(fixture.store, 'parcels', (registry) => addVersion(registry, version('run-0')));
    const before = await readRegistry(fixture.store, 'parcels');
    expect(await promoteAdapters(fixture.store, await judgedAgainst(value, null))).toEqual({ version: null });
    expect(await readRegistry(fixture.store, 'parcels')).toEqual(before);
    expect(await promoteAdapters(fixture.store, await judgedAgainst(value, 1))).toEqual({ version: 2 });
    // A repeated call does not look at what is active now.
    expect(await promoteAdapters(fixture.store, await judgedAgainst(value, 1))).toEqual({ version: 2 });
  });

  it('does not end a canary that runs', async () => {
    for (const runId of ['run-0', 'run-00'])
      await changeRegistry(fixture.store, 'parcels', (registry) => addVersion(registry, version(runId)));
    const canary = {
      id: 'a'.repeat(12),
      version: 1,
      share: 0.1,
      falseRollback: 0.05,
      startedAt: '2026-11-21T03:00:00.000Z',
    };
    await changeRegistry(fixture.store, 'parcels', (registry) => startCanary(registry, canary));
    const value = await judgedAgainst(await input(), 2);
    await expect(promoteAdapters(fixture.store, value)).rejects.toMatchObject({
      type: 'Promote.CanaryRuns',
      nonRetryable: true,
    });
    expect((await readRegistry(fixture.store, 'parcels')).canary).toEqual(canary);
    await changeRegistry(fixture.store, 'parcels', (registry) => endCanary(registry, 'stopped', 'by hand'));
    expect(await promoteAdapters(fixture.store, value)).toEqual({ version: 3 });
  });

  it('promotes the mixed adapter alone, the others without it, or all where a router gives it some openings', async () => {
    const value = await input();
    const [verify] = value.adapters;
    const adapters = [verify!, { ...verify!, name: 'mixed@cccccccccccc', capabilityId: 'mixed' }];
    // Each run is compared with the version before.
    const promote = async (runId: string, active: number | null, router: ArtifactRef) =>
      promoteAdapters(fixture.store, {
        ...(await judgedAgainst(value, active)),
        ...{ adapters, router, context: { ...value.context, runId } },
      });
    await promote('run-1', null, value.router);
    const router = await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', {
      kind: 'mixed',
      leftOut: [],
    });
    await promote('run-2', 1, router);
    const vocabulary = { terms: [], weights: [] };
    const both = await putJson(fixture.store, layout.evaluation('run-3'), 'router.json', {
      kind: 'labels',
      leftOut: [],
      vocabulary,
      needs: [],
      severalNeeds: { vocabulary, needs: [], threshold: 0.5 },
    });
    await promote('run-3', 2, both);
    const [asArm, leftOut] = await Promise.all(
      [[], ['mixed']].map((left, i) =>
        putJson(fixture.store, layout.evaluation(`run-${4 + i}`), 'router.json', outcomesMixed(left)),
      ),
    );
    await promote('run-4', 3, asArm!);
    await promote('run-5', 4, leftOut!);
    const { versions } = await readRegistry(fixture.store, 'parcels');
    expect(versions.map((v) => v.adapters.map(({ name }) => name))).toEqual([
      ['verify@bbbbbbbbbbbb'],
      ['mixed@cccccccccccc'],
      ['verify@bbbbbbbbbbbb', 'mixed@cccccccccccc'],
      ['verify@bbbbbbbbbbbb', 'mixed@cccccccccccc'],
      ['verify@bbbbbbbbbbbb'],
    ]);
    expect(versions[3]?.judgedRouter?.kind).toBe('outcomes-mixed');
    expect(versions[1]?.judgedRouter?.kind).toBe('mixed');
  });

  it('refuses a version without an adapter that its judged router gives conversations to', async () => {
    const value = await input();
    const vocabulary = { terms: [], weights: [] };
    const model = { bias: 0, weights: { positions: [], values: [] } };
    const promoteWith = async (router: object) => {
      const ref = await putJson(fixture.store, layout.evaluation('run-1'), 'router.json', router);
      return promoteAdapters(fixture.store, { ...value, router: ref });
    };
    const labels = { kind: 'labels', leftOut: [], vocabulary, needs: [{ capabilityId: 'verify', model }] };
    const severalNeeds = { vocabulary, needs: [], threshold: 0.5 };
    const laterTurns = { reads: 'user', vocabulary, needs: [{ capabilityId: 'address', model }], threshold: 0.7 };
    for (const [router, named] of [
      [{ ...labels, severalNeeds }, 'gives conversations to mixed,'],
      [{ ...labels, laterTurns }, 'gives conversations to address,'],
      [{ kind: 'mixed', leftOut: [] }, 'gives conversations to mixed,'],
      [outcomesMixed([]), 'gives conversations to mixed,'],
    ] as const)
      await expect(promoteWith(router)).rejects.toMatchObject({
        type: 'Promote.AdapterMissing',
        nonRetryable: true,
        message: expect.stringContaining(named),
      });
    expect((await readRegistry(fixture.store, 'parcels')).versions).toEqual([]);
    // What the router leaves out needs no adapter.
    expect(await promoteWith({ ...labels, leftOut: ['address'], laterTurns })).toEqual({ version: 1 });
  });

  it('lets Temporal try again when others keep changing the registry', async () => {
    const value = await input();
    const contested = Object.create(fixture.store) as LocalStore;
    let swaps = 0;
    // Each lost race takes ten seconds of the half minute for which a change is repeated.
    const now0 = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now0() + swaps * 10_000);
    contested.swapDocument = () => {
      swaps += 1;
      return Promise.reject(new StoreConflictError('changed by somebody else'));
    };
    await expect(promoteAdapters(contested, value)).rejects.toMatchObject({
      type: 'Promote.Conflict',
      nonRetryable: false,
    });
    clock.mockRestore();
    expect(swaps).toBeGreaterThan(2);
  });
});
