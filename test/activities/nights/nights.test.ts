// tier: integration (real store)
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keepMembers } from '../../../activities/nights/keep-members';
import { planNight } from '../../../activities/nights/plan-night';
import { nightPlanSchema } from '../../../contracts/artifacts/night';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import type { AgentSpecInput } from '../../../contracts/config/agent-spec';
import type { RunContext } from '../../../contracts/messages/run-context';
import { changeNights, changeDictionary, getJson, layout, putJson, readNights } from '../../../store';
import { kept, NightFixture, SPEC_ENVIRONMENT } from './night-fixture';

describe('planNight and decideNight', () => {
  let fixture: NightFixture;
  beforeEach(() => void (fixture = new NightFixture()));
  afterEach(() => fixture.dispose());

  const prepare: NightFixture['prepareNight'] = (...given) => fixture.prepareNight(...given);
  const promote: NightFixture['promote'] = (...given) => fixture.promote(...given);
  const decide: NightFixture['decide'] = (...given) => fixture.decide(...given);

  test('without a version that fits there is nothing to measure, and the plan says why', async () => {
    const plan = async (context: RunContext) => {
      const planned = await fixture.run(planNight.bind(null, fixture.store), context);
      return { planned, plan: await getJson(fixture.store, planned.plan, nightPlanSchema) };
    };
    const first = await plan(await prepare('run-0'));
    expect(first.planned.measure).toBeNull();
    expect(first.plan).toMatchObject({
      night: 0,
      measures: false,
      why: expect.stringContaining('No version is active'),
    });
    await promote('run-0', ['a'], 'f'.repeat(64));
    expect((await plan(await prepare('run-1'))).plan.why).toContain('was trained on another base model');
  });

  test('a run keeps the number of its night, and the next one has the next tasks', async () => {
    await promote('run-0');
    const [first, again] = [await prepare('run-1'), await prepare('run-1')];
    const seeds = async (context: RunContext) =>
      (await fixture.run(planNight.bind(null, fixture.store), context)).measure!.seeds;
    expect(await seeds(first)).toEqual([{ start: 0, count: 20 }]);
    expect(await seeds(again)).toEqual([{ start: 0, count: 20 }]);
    expect(await seeds(await prepare('run-2'))).toEqual([{ start: 20, count: 20 }]);
  });

  test('a plan that is made again after another version became active is about that one', async () => {
    await fixture.run(planNight.bind(null, fixture.store), await prepare('run-1'));
    await promote('run-0');
    const nights = async () => (await readNights(fixture.store, 'parcels')).nights;
    const planned = await fixture.run(planNight.bind(null, fixture.store), await prepare('run-1'));
    expect(planned.measure).toMatchObject({ night: 1, version: { version: 1 } });
    expect(await nights()).toMatchObject([{ runId: 'run-1', night: 1, version: 1 }]);
    await promote('run-9');
    await fixture.run(planNight.bind(null, fixture.store), await prepare('run-1'));
    expect(await nights()).toMatchObject([{ runId: 'run-1', night: 1, version: 2 }]);
  });

  test('a task that failed in an arm is in no figure, and is counted by cause', async () => {
    await promote('run-0');
    const { decision } = await decide('run-1', [], 10, {}, { failed: { base: [0, 1], served: [1, 12] } });
    // Of 20 tasks three have no result in some arm; the version passes 2 to 9, and base none.
    expect(decision).toMatchObject({ tasks: 17, base: 0, failed: { base: { judge: 2 }, served: { judge: 2 } } });
    expect(decision.served).toBeCloseTo(8 / 17);
    expect(decision.sentence).toContain(
      'without a result: of base, 2 failed (2 judge); of version 1, 2 failed (2 judge)',
    );
    const quiet = await decide('run-2', []);
    expect(quiet.decision).not.toHaveProperty('failed');
    expect(quiet.decision.sentence).not.toContain('without a result');
  });

  test('what the version has adapters for is no news while it stays lacking', async () => {
    await promote('run-0');
    const { result, decision } = await decide('run-1', [
      kept('a', 'recurring'),
      { ...kept('b', 'fixed'), verdict: 'rejected' },
    ]);
    expect(result.outcome).toBe('nothing-new');
    expect(result.sentence).toMatch(/Still lacking, with an adapter that is served: a\. A loss of \d+ points or more/);
    expect(decision.capabilities).toEqual([
      { id: 'a', state: 'recurring', inVersion: true },
      { id: 'b', state: 'fixed', inVersion: true },
    ]);
    expect(decision.cost).toEqual({ rollouts: 40, labels: 12, analystTokens: 30 });
  });

  test.each([
    [undefined, '40 rollouts and 12 labels.'],
    [0, '40 rollouts and 12 labels; there was no live traffic that it answered.'],
    [1, '40 rollouts and 12 labels; 1 conversation that it answered was read, too.'],
    [9, '40 rollouts and 12 labels; 9 conversations that it answered were read, too.'],
  ])('%p conversations of live traffic are in the decision and in no pass rate', async (live, spent) => {
    await promote('run-0');
    const { result, decision } = await decide('run-1', [], 10, {}, { live });
    expect(result.sentence).toContain(`Measuring took ${spent}`);
    expect(decision).toMatchObject({ tasks: 20, served: 0.5, cost: { rollouts: 40 } });
    expect(decision.live).toBe(live);
  });

  test.each([
    ['new', [kept('c', 'new')], { kind: 'new', capabilityId: 'c' }],
    ['regressed', [kept('b', 'regressed')], { kind: 'regressed', capabilityId: 'b', adapter: '1'.repeat(64) }],
  ])(
    '%s: the night goes on, and the same reason does not count twice on the same content',
    async (_, found, reason) => {
      await promote('run-0');
      const first = await decide('run-1', found);
      expect(first.result.outcome).toBe('goes-on');
      expect(first.decision.reasons).toEqual([reason]);
      // Its run has not ended, or failed: the reason stands.
      expect((await decide('run-1b', found)).result.outcome).toBe('goes-on');
      await changeNights(fixture.store, 'parcels', (before) => ({
        ...before,
        nights: before.nights.map((one) => (one.runId === 'run-1' ? { ...one, worked: true } : one)),
      }));
      const second = await decide('run-2', found);
      expect(second.result.outcome).toBe('nothing-new');
      expect(second.decision).toMatchObject({ reasons: [], seenBefore: [reason] });
      // Another version may have cured it, or not: it is looked at anew.
      await promote('run-2', ['a', 'b'], '0'.repeat(64), '2'.repeat(64));
      expect((await decide('run-3', found)).result.outcome).toBe('goes-on');
    },
  );

  test.each<[string, Partial<AgentSpecInput>, string]>([
    ['training', { training: { iterations: 99 } }, 'goes-on'],
    ['calibration', { calibration: { seeds: 12 } }, 'goes-on'],
    ['synthesis', { synthesis: { maxAttempts: 2 } }, 'goes-on'],
    ['collection', { collect: { trials: 3 } }, 'goes-on'],
    ['the place of the trainer', { training: { threads: 3, reportTo: 'tensorboard' } }, 'nothing-new'],
    ['the pace of collection', { collect: { concurrency: 3 } }, 'nothing-new'],
  ])('after another option of %s', async (_, spec, outcome) => {
    await promote('run-0');
    await decide('run-1', [kept('c', 'new')]);
    await changeNights(fixture.store, 'parcels', (before) => ({
      ...before,
      nights: before.nights.map((one) => ({ ...one, worked: true })),
    }));
    expect((await decide('run-2', [kept('c', 'recurring')], 10, spec)).result.outcome).toBe(outcome);
  });

  test('each night samples anew, the first one too, and where there are no other tasks promises none', async () => {
    await promote('run-0');
    const open = { capabilityId: 'c', verdict: 'not-enough-data', status: null, gap: 0.4, coverage: 0.3 };
    const nights = [];
    for (const runId of ['run-1', 'run-2', 'run-3'])
      nights.push((await fixture.run(planNight.bind(null, fixture.store), await prepare(runId))).measure?.night);
    // Without its number base would replay what the first collection played of the same tasks.
    expect(nights).toEqual([1, 2, 3]);
    expect((await decide('run-3', [open])).result.sentence).toContain(
      'Other tasks follow in the next night; `whet run` begins it now.',
    );
    const few = { environment: { ...SPEC_ENVIRONMENT, trainSeeds: { start: 0, count: 20 } } };
    const { result } = await decide('run-4', [open], 10, few);
    expect(result.sentence).toContain('The next night plays the same tasks again; `whet run` begins it now.');
  });

  test('what the run of the version had worked on without an adapter is no news either', async () => {
    await fixture.run(planNight.bind(null, fixture.store), await prepare('run-0'));
    await promote('run-0');
    await changeDictionary(fixture.store, 'parcels', (dictionary) => ({
      ...dictionary,
      entries: [
        {
          ...{ id: 'c', name: 'c', summary: 'c', description: 'c', state: 'lacking', aliases: [] },
          history: [{ runId: 'run-0', verdict: 'kept', status: 'new', gap: 0.5, coverage: 0.3 }],
        },
      ],
    }));
    const { result } = await decide('run-1', [kept('c', 'recurring')]);
    expect(result.outcome).toBe('nothing-new');
  });

  test('a smaller gain on easier tasks is no reason while the version passes as many', async () => {
    const { store } = fixture;
    await promote('run-0');
    const gain = { estimate: 0.5, low: 0.4, high: 0.6 };
    const evaluate = (passRate: number) =>
      putJson(store, layout.evaluation('run-0'), 'evaluation.json', {
        routed: { passRate: { estimate: passRate, low: passRate - 0.02, high: passRate + 0.02 } },
        routedMinusBase: gain,
      });
    const easy = await evaluate(0.05);
    const night1 = await decide('run-1', [], 1);
    expect(night1.result.outcome).toBe('nothing-new');
    expect(night1.decision.change.high).toBeLessThan(0);
    expect(night1.decision.rateChange!.high).toBeGreaterThan(0);
    await store.remove(easy.key, Number.MAX_SAFE_INTEGER);
    await evaluate(0.9);
    expect((await decide('run-2', [], 1)).decision.reasons).toEqual([{ kind: 'lost-gain', capabilityId: null }]);
  });

  test('members of the version are kept where a record has their adapter', async () => {
    await promote('run-0');
    const { store } = fixture;
    const manifest = await putJson(store, layout.training('run-0', 'b'), 'manifest.json', { iterations: 8 });
    const adapter = {
      ...{ name: 'b@1', capabilityId: 'b', sha256: '1'.repeat(64), key: 'adapters/parcels/b-1', manifest },
      ...{ rollouts: 128, seconds: 2, finalReward: 0.9 },
    };
    await store.swapDocument(
      `${layout.reuse('parcels')}/adapter-1.json`,
      { runId: 'run-0', dependsOn: { baseModel: '0'.repeat(64) }, adapter },
      null,
    );
    const context = await prepare('run-1');
    const { measure } = await fixture.run(planNight.bind(null, fixture.store), context);
    const input = { context, version: measure!.version, sharpened: ['a'] };
    const members = await fixture.run(keepMembers.bind(null, fixture.store), input);
    expect(members).toMatchObject([
      {
        capability: { id: 'b' },
        reason: 'kept from version 1',
        adapter: { sha256: adapter.sha256, reusedFrom: 'run-0' },
      },
    ]);
    expect(members[0]!.adapter!.manifest.key).toMatch(/^runs\/run-1\//);
    expect(await fixture.run(keepMembers.bind(null, fixture.store), { ...input, sharpened: ['a', 'b'] })).toEqual([]);
  });

  test('a member of the version whose record is damaged is skipped, and it is said', async () => {
    await promote('run-0');
    const records = fixture.store.localPath(layout.reuse('parcels'));
    for (const entry of await readdir(records, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) await writeFile(join(entry.parentPath, entry.name), '{ "torn');
    const context = await prepare('run-1');
    const { measure } = await fixture.run(planNight.bind(null, fixture.store), context);
    const input = { context, version: measure!.version, sharpened: ['a'] };
    const members = await fixture.run(keepMembers.bind(null, fixture.store), input);
    expect(members).toMatchObject([{ capability: { id: 'b' }, status: 'skipped', adapter: null }]);
    expect(members[0]!.reason).toMatch(/^version 1 has its adapter 1{12}, but no record .* can be read in .*reuse/);
  });

  test.each([
    ['the environment', { environment: 'f'.repeat(64) }, ['a', 'b'], { adapter: '1'.repeat(64) }],
    ['an option', { options: 'f'.repeat(64) }, ['a', 'b'], { adapter: '1'.repeat(64) }],
    ['an option, while the mixed adapter is served', { options: 'f'.repeat(64) }, ['mixed'], {}],
  ])('what is lacking although its adapter is served is a reason once %s has changed', async (_, other, ids, more) => {
    await fixture.run(planNight.bind(null, fixture.store), await prepare('run-0'));
    await promote('run-0', ids);
    expect((await decide('run-1', [kept('a', 'recurring')])).result.outcome).toBe('nothing-new');
    await changeNights(fixture.store, 'parcels', (before) => ({
      ...before,
      nights: before.nights.map((one) =>
        one.runId === 'run-0' ? { ...one, content: { ...one.content, ...other } } : one,
      ),
    }));
    const { result, decision } = await decide('run-2', [kept('a', 'recurring')]);
    expect(decision.reasons).toEqual([{ kind: 'regressed', capabilityId: 'a', ...more }]);
    expect(result.sentence).toContain('a is lacking although its adapter is served');
  });

  test('fewer tasks passed while base loses as many is a reason where something may be lacking', async () => {
    await promote('run-0');
    await putJson(fixture.store, layout.evaluation('run-0'), 'evaluation.json', {
      routed: { passRate: { estimate: 0.95, low: 0.93, high: 0.97 } },
      routedMinusBase: { estimate: 0.5, low: 0.4, high: 0.6 },
    });
    const open = { capabilityId: 'c', verdict: 'not-enough-data', status: null, gap: 0.4, coverage: 0.3 };
    // The gain is as it was: 10 of 20 tasks, and base none.
    expect((await decide('run-1', [])).result.outcome).toBe('nothing-new');
    const { decision } = await decide('run-2', [open]);
    expect(decision.change.high).toBeGreaterThan(0);
    expect(decision.reasons).toEqual([{ kind: 'lost-gain', capabilityId: null }]);
  });

  test('a lost gain is a reason of its own', async () => {
    await promote('run-0');
    const { result, decision } = await decide('run-1', [], 1);
    expect(result.outcome).toBe('goes-on');
    expect(decision.reasons).toEqual([{ kind: 'lost-gain', capabilityId: null }]);
    expect(decision.change.high).toBeLessThan(0);
  });

  test('what the run of the version had rejected, with more tasks, is not open again', async () => {
    await fixture.run(planNight.bind(null, fixture.store), await prepare('run-0'));
    await promote('run-0');
    await changeDictionary(fixture.store, 'parcels', (dictionary) => ({
      ...dictionary,
      entries: [
        {
          ...{ id: 'c', name: 'c', summary: 'c', description: 'c', state: 'never', aliases: [] },
          history: [{ runId: 'run-0', verdict: 'rejected', status: null, gap: 0.1, coverage: 0.03 }],
        },
      ],
    }));
    const open = { capabilityId: 'c', verdict: 'not-enough-data', status: null, gap: 1, coverage: 0.15 };
    expect((await decide('run-1', [open])).result.outcome).toBe('nothing-new');
  });

  test('what passes by its estimate alone: too little power, and the night ends', async () => {
    await promote('run-0');
    const open = { capabilityId: 'c', verdict: 'not-enough-data', status: null, gap: 0.4, coverage: 0.3 };
    const { result } = await decide('run-1', [open]);
    expect(result.outcome).toBe('too-little-power');
    expect(result.sentence).toContain('these tasks are too few to tell: c.');
  });

  test('episodes of earlier nights that counted are named, and the next nights find these rollouts', async () => {
    await promote('run-0');
    const { result, decision } = await decide('run-1', [], 10, {}, { earlier: 120 });
    expect(decision.earlier).toBe(120);
    expect(result.sentence).toContain('120 episodes of earlier nights with the same inputs counted as evidence, too.');
    const { nights } = await readNights(fixture.store, 'parcels');
    expect(nights.at(-1)?.served?.key).toContain('/night-served');
  });

  test('what so few failures lack that labels may be wrong does not hold a night open', async () => {
    await promote('run-0');
    const noise = {
      capabilityId: 'c',
      verdict: 'not-enough-data',
      status: null,
      gap: 0.25,
      coverage: 0.27,
      lacking: 3,
    };
    expect((await decide('run-1', [noise])).result.outcome).toBe('nothing-new');
  });

  test('a mixed adapter alone holds every capability that the run of its version kept', async () => {
    await promote('run-0', ['mixed']);
    await changeDictionary(fixture.store, 'parcels', (dictionary) => ({
      ...dictionary,
      entries: ['c', 'd'].map((id, i) => ({
        ...{ id, name: id, summary: id, description: id, state: 'lacking' as const, aliases: [] },
        history: [{ runId: 'run-0', verdict: i === 0 ? 'kept' : 'rejected', status: null, gap: 0.5, coverage: 0.3 }],
      })),
    }));
    const open = (capabilityId: string) => ({ capabilityId, verdict: 'not-enough-data', status: null });
    const { decision } = await decide('run-1', [open('c'), open('d')]);
    expect(decision.capabilities).toMatchObject([
      { id: 'c', inVersion: true },
      { id: 'd', inVersion: false },
    ]);
    expect(decision.undecided).toEqual(['d']);
  });

  test('a night plays more tasks while no night has seen the changed environment', async () => {
    await promote('run-0');
    const plan = async (runId: string, environmentSha256?: string) => {
      const context = await prepare(runId);
      const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
      const changed = { ...prepared, ...(environmentSha256 && { environmentSha256 }) };
      const spec = await putJson(fixture.store, layout.run(runId), 'spec.json', changed);
      const { measure, summary } = await fixture.run(planNight.bind(null, fixture.store), { ...context, spec });
      await fixture.endNights();
      return { tasks: measure!.seeds.reduce((sum, { count }) => sum + count, 0), summary };
    };
    expect((await plan('run-1')).tasks).toBe(20);
    const changed = await plan('run-2', 'e'.repeat(64));
    expect(changed.tasks).toBe(40);
    expect(changed.summary).toContain(
      "on 40 train tasks (more than usual, because the agent's environment has changed)",
    );
    expect((await plan('run-3', 'e'.repeat(64))).tasks).toBe(20);
  });

  test('what is inseparable from another capability does not hold a night open', async () => {
    await promote('run-0');
    const open = {
      capabilityId: 'c',
      verdict: 'not-enough-data',
      status: null,
      gap: 0.4,
      coverage: 0.3,
      goesWith: 'd',
    };
    const { result } = await decide('run-1', [open]);
    expect(result.outcome).not.toBe('too-little-power');
    expect(result.sentence).not.toContain('too few to tell');
  });
});
