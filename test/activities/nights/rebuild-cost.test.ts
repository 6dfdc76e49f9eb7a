// tier: integration (real store)
import { planNight } from '../../../activities/nights/plan-night';
import { nightPlanSchema } from '../../../contracts/artifacts/night';
import type { AgentSpecInput } from '../../../contracts/config/agent-spec';
import { addVersion, changeRegistry, getJson, layout, putJson } from '../../../store';
import { RunFixture } from '../run-fixture';

/** Base model of the version; today's is that of the fixture. */
const BEFORE = 'f'.repeat(64);
const TODAY = '0'.repeat(64);
const shaOf = (id: string): string => id.repeat(64);

describe('what a changed base model costs', () => {
  let fixture: RunFixture;
  beforeEach(async () => {
    fixture = new RunFixture();
    await changeRegistry(fixture.store, 'parcels', (registry) =>
      addVersion(registry, {
        ...{ runId: 'run-0', createdAt: '2026-11-20T00:00:00Z', baseModelSha256: BEFORE },
        adapters: ['a', 'b'].map((id) => ({
          ...{ name: `${id}@1`, capabilityId: id, summary: id, key: `adapters/parcels/${id}-1`, sha256: shaOf(id) },
        })),
        routedMinusBase: { estimate: 0.5, low: 0.4, high: 0.6 },
        judgedRouter: {
          kind: 'base',
          artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
        },
      }),
    );
  });
  afterEach(() => fixture.dispose());

  const record = (kind: string, name: string, value: object) =>
    fixture.store.swapDocument(`${layout.reuse('parcels')}/${kind}-${name}.json`, value, null);
  const adapter = async (id: string, baseModel = BEFORE, name = id, continues = {}) => {
    const manifest = await putJson(fixture.store, layout.training('run-0', name), 'manifest.json', {
      completionTokens: 5_000,
    });
    await record('adapter', name, {
      runId: 'run-0',
      dependsOn: {
        ...{ baseModel, environments: [{ id, sha256: shaOf(`${Number(id === 'b')}`) }], options: { lr: 1 } },
        ...continues,
      },
      adapter: {
        ...{
          name: `${id}@1`,
          capabilityId: id,
          sha256: baseModel === BEFORE ? shaOf(id) : shaOf('e'),
          key: 'k',
          manifest,
        },
        ...{ rollouts: 640, seconds: 90, finalReward: 0.9 },
      },
    });
  };
  const calibration = async (id: string, baseModel = BEFORE, name = id) => {
    const detail = await putJson(fixture.store, layout.run('run-0'), `calibration-${name}.json`, { rollouts: 700 });
    const dependsOn = { environment: shaOf(`${Number(id === 'b')}`), baseModel, seed: 7 };
    await record('calibration', name, { runId: 'run-0', dependsOn, detail });
  };
  const everything = async () => {
    for (const id of ['a', 'b']) await Promise.all([adapter(id), calibration(id)]);
    // Another run's, which the version has no part in.
    await adapter('c', BEFORE, 'of-no-member');
    const use = { calls: 1_000, asks: 1_000, tries: 1_000, promptTokens: 900_000, cachedTokens: 0 };
    const rest = { completionTokens: 100_000, unanswered: 0, shortened: 0, redacted: {} };
    const uses = { label: { ...use, ...rest }, synthesise: { ...use, ...rest } };
    await fixture.store.swapDocument(layout.analystUse('run-0'), { uses, counted: {} }, null);
  };
  const plan = async (runId = 'run-1', spec: Partial<AgentSpecInput> = {}) => {
    const context = await fixture.prepare('http://127.0.0.1:9/v1', spec, undefined, runId);
    const planned = await fixture.run(planNight.bind(null, fixture.store), context);
    return { planned, plan: await getJson(fixture.store, planned.plan, nightPlanSchema) };
  };

  test('the plan counts what the members took, and the identification, with its price', async () => {
    await everything();
    const analyst = { pricePerMillionInput: 2, pricePerMillionOutput: 10 };
    const { planned, plan: artifact } = await plan('run-1', { analyst });
    expect(planned.measure).toBeNull();
    expect(planned.remaking).toBe(
      'The base model has changed: making the 2 adapters of version 1 again takes about 1,400 rollouts of ' +
        '2 calibrations, 1,280 of training (10,000 tokens, 3 minutes) and 1,000 questions to the analyst ' +
        '(1,000,000 tokens, $2.80); 2 environments stay.',
    );
    expect(artifact.invalid).toEqual({ environments: 0, calibrations: 2, adapters: 2 });
    expect(artifact.remaking).toMatchObject({ unknown: 0, trainingMinutes: 3, sentence: planned.remaking });
  });

  test('what today\u2019s base model has of the same content already is not counted', async () => {
    await everything();
    await Promise.all([adapter('a', TODAY, 'a-today'), calibration('a', TODAY, 'a-today')]);
    expect((await plan()).plan.remaking).toMatchObject({
      ...{ adapters: 1, calibrations: 1, calibrationRollouts: 700, trainingRollouts: 640, environments: 2 },
    });
    await Promise.all([adapter('b', TODAY, 'b-today'), calibration('b', TODAY, 'b-today')]);
    const { planned, plan: artifact } = await plan('run-2');
    expect(planned).not.toHaveProperty('remaking');
    expect(artifact).not.toHaveProperty('remaking');
  });

  test('a member that was trained on is there again once its content was trained', async () => {
    await Promise.all([adapter('a', BEFORE, 'a', { continues: shaOf('d') }), adapter('b')]);
    await Promise.all([adapter('a', TODAY, 'a-today'), adapter('b', TODAY, 'b-today')]);
    expect((await plan()).planned).not.toHaveProperty('remaking');
  });

  test('nothing is told where all that is to be made has left no record', async () => {
    expect((await plan()).planned).not.toHaveProperty('remaking');
    await Promise.all([adapter('a'), adapter('a', TODAY, 'a-today')]);
    expect((await plan('run-2')).planned).not.toHaveProperty('remaking');
  });

  test('what left no record is counted as unknown, and a removed run is told by its history', async () => {
    await adapter('a');
    await fixture.store.put(layout.history('parcels'), 'run-0.json', JSON.stringify({ broken: true }));
    const { planned, plan: artifact } = await plan();
    expect(artifact.remaking).toMatchObject({ adapters: 2, calibrations: 0, unknown: 1, identification: null });
    expect(planned.remaking).toContain(', and what 1 without a record takes; 1 environment stays.');
    const spend = {
      rollouts: 9,
      trainingRollouts: 9,
      analystCalls: 77,
      analystTokens: 7_700,
      usd: 1.5,
      modelTokens: 9,
    };
    const lists = { new: [], recurring: [], fixed: [], regressed: [], sharpened: [], reused: [] };
    await putJson(fixture.store, layout.history('parcels'), 'run-0.json', {
      ...{ schemaVersion: 1, runId: 'run-0', agent: 'parcels', outcome: 'promoted', reasons: [] },
      ...{ startedAt: '2026-11-20T00:00:00Z', endedAt: '2026-11-20T01:00:00Z' },
      figures: { ...lists, promotedVersion: 1, gain: null, spend },
    });
    expect((await plan('run-2')).plan.remaking!.identification).toEqual({ calls: 77, tokens: 7_700, usd: 1.5 });
  });

  test('a version that fits costs nothing', async () => {
    await everything();
    await changeRegistry(fixture.store, 'parcels', (registry) =>
      addVersion(registry, { ...registry.versions[0]!, runId: 'run-00', baseModelSha256: TODAY }),
    );
    expect((await plan()).planned).not.toHaveProperty('remaking');
  });
});
