// tier: integration (real store)
import { adapterGains } from '../../../activities/nights/adapter-gains';
import type { AdapterTasks } from '../../../contracts/artifacts/night';
import { changeNights } from '../../../store';
import { kept, NightFixture, type Played } from './night-fixture';

const CONTENT = { environment: 'e', baseModel: 'b', options: 'o' };
const own = (tasks: number, gained: number, lost: number): AdapterTasks => ({
  ...{ capabilityId: 'a', sha256: '1' },
  ...{ tasks, gained, lost, passed: gained },
});
const nightOf = (adapters: AdapterTasks[], night: number) => ({
  ...{ runId: `run-${night}`, night, version: 1, content: CONTENT, reasons: [], worked: true },
  ...{ outcome: 'nothing-new' as const, adapters },
});
const verdict = (tonight: AdapterTasks, before: AdapterTasks[] = [], version = 1) =>
  adapterGains([tonight], {
    ...{ version, content: CONTENT },
    nights: before.map((adapter, place) => nightOf([adapter], place)),
  })[0]!;

describe('the gain of an adapter on its own tasks', () => {
  test('harms where its whole interval is below 0, over the nights of one version', () => {
    expect(verdict(own(40, 1, 16)).verdict).toBe('harms');
    expect(verdict(own(40, 6, 14)).verdict).toBe('cannot-tell');
    // Three nights that each can tell nothing.
    const pooled = verdict(own(20, 2, 9), [own(20, 1, 10), own(20, 2, 9)]);
    expect(pooled).toMatchObject({ verdict: 'harms', tasks: 60, gained: 5, lost: 28 });
    expect(pooled.gain.high).toBeLessThan(0);
    expect(verdict(own(20, 2, 9), [own(20, 1, 10), own(20, 2, 9)], 2)).toMatchObject({ tasks: 20 });
  });

  test('is judged more strictly by each night, and with each adapter', () => {
    const nothing = own(0, 0, 0);
    const levels = [0, 1, 30].map((nights) => verdict(nothing, Array<AdapterTasks>(nights).fill(nothing)).confidence);
    expect(levels[0]).toBeCloseTo(0.9696, 4);
    expect(levels[1]).toBeCloseTo(0.9924, 4);
    expect(levels[2]).toBeGreaterThan(0.9999);
    const two = adapterGains([own(40, 1, 16), { ...own(40, 1, 16), capabilityId: 'b' }], {
      ...{ version: 1, content: CONTENT, nights: [] },
    });
    expect(two[0]!.confidence).toBeCloseTo(0.9848, 4);
  });

  test('what has begun is not hidden by the nights before it', () => {
    const good = Array<AdapterTasks>(20).fill(own(12, 8, 0));
    expect(verdict(own(12, 8, 0), good).verdict).toBe('helps');
    expect(verdict(own(12, 0, 7), [...good, ...Array<AdapterTasks>(7).fill(own(12, 0, 7))]).verdict).toBe('harms');
  });

  test('no longer helps where any gain of note is excluded', () => {
    expect(verdict(own(90, 1, 1)).verdict).toBe('cannot-tell');
    expect(verdict(own(150, 1, 1)).verdict).toBe('no-longer-helps');
  });

  test('an adapter that does nothing is rarely said to harm, however many nights look', () => {
    // Half of the 20 tasks of a night differ, and each is gained as often as it is lost.
    let state = 42;
    const flip = () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32 < 0.5;
    let said = 0;
    for (let agent = 0; agent < 100; agent++) {
      const before: AdapterTasks[] = [];
      for (let night = 0; night < 30; night++) {
        const gained = Array.from({ length: 10 }, flip).filter(Boolean).length;
        const tonight = own(20, gained, 10 - gained);
        if (verdict(tonight, before).verdict !== 'harms') before.push(tonight);
        else night = 30 + said++;
      }
    }
    expect(said).toBeLessThanOrEqual(5);
  });
});

describe('a night with an adapter that does harm', () => {
  let fixture: NightFixture;
  beforeEach(() => void (fixture = new NightFixture()));
  afterEach(() => fixture.dispose());

  /** The adapter of a loses what base passes of its 40 tasks. That of b makes up for it: the gain is as it was. */
  const played: Played = {
    tasks: 200,
    base: (seed) => seed < 30,
    served: (seed) => seed >= 70,
    routing: (seed) => (seed < 40 ? 'a' : 'b'),
  };
  const decide = (runId: string, contrasts: Parameters<NightFixture['decide']>[1] = [], of = played) =>
    fixture.decide(runId, contrasts, 0, {}, of);
  const reason = { kind: 'harms', capabilityId: 'a', adapter: '1'.repeat(64) };

  test('goes on to try what is served without it, once for a version and content', async () => {
    await fixture.promote('run-0');
    const { result, decision } = await decide('run-1');
    expect(decision).toMatchObject({
      outcome: 'goes-on',
      reasons: [reason],
      adapters: [
        { capabilityId: 'a', tasks: 40, gained: 0, lost: 30, verdict: 'harms' },
        { capabilityId: 'b', tasks: 160, gained: 130, lost: 0, verdict: 'helps' },
      ],
    });
    expect(result.retires).toEqual(['a']);
    expect(result.continues).toBeUndefined();
    expect(result.sentence).toMatch(/the adapter of a does harm, −75\.0 points .* on the 40 tasks that it got/);
    await fixture.endNights();
    const second = await decide('run-2');
    expect(second.decision).toMatchObject({ outcome: 'nothing-new', reasons: [], seenBefore: [reason] });
    await fixture.promote('run-2');
    expect((await decide('run-3')).result.retires).toEqual(['a']);
  });

  test('trains first where the capability is lacking', async () => {
    await fixture.promote('run-0');
    const lacking = [kept('a', 'regressed')];
    expect((await decide('run-1', lacking)).result).toMatchObject({ continues: [{ capabilityId: 'a' }] });
    await fixture.endNights();
    // The training has not helped.
    expect((await decide('run-2', lacking)).decision).toMatchObject({
      reasons: [reason],
      seenBefore: [{ kind: 'regressed' }],
    });
  });

  test('retires nothing in a night that trains, and one adapter a night, the worst first', async () => {
    await fixture.promote('run-0', ['a', 'b', 'c']);
    // That of c loses half of its tasks, and that of a more.
    const two: Played = {
      tasks: 240,
      base: (seed) => seed < 30 || (seed >= 200 && seed < 220),
      served: (seed) => seed >= 70 && seed < 200,
      routing: (seed) => (seed < 40 ? 'a' : seed < 200 ? 'b' : 'c'),
    };
    const other = { ...reason, capabilityId: 'c' };
    const lacking = [kept('d', 'new')];
    const first = await decide('run-1', lacking, two);
    expect(first.decision.reasons.map(({ kind }) => kind)).toEqual(['new', 'lost-gain']);
    expect(first.result.retires).toBeUndefined();
    await fixture.endNights();
    expect((await decide('run-2', lacking, two)).decision.reasons).toEqual([reason]);
    await fixture.endNights();
    const third = await decide('run-3', lacking, two);
    expect(third.result.retires).toEqual(['c']);
    expect(third.decision.seenBefore).toContainEqual(reason);
    await fixture.endNights();
    expect((await decide('run-4', lacking, two)).decision).toMatchObject({ outcome: 'nothing-new', reasons: [] });
    expect((await decide('run-5', lacking, two)).decision.seenBefore).toEqual(expect.arrayContaining([reason, other]));
  });

  test('a night that also trained has not tried what is served without an adapter', async () => {
    await fixture.promote('run-0');
    await decide('run-1');
    await fixture.endNights();
    await changeNights(fixture.store, 'parcels', (before) => ({
      ...before,
      nights: before.nights.map((night) => ({
        ...night,
        reasons: [...night.reasons, { kind: 'new' as const, capabilityId: 'd' }],
      })),
    }));
    expect((await decide('run-2')).decision.reasons).toEqual([reason]);
  });

  test('a night that trained something beside it has not tried it either: the reason stays', async () => {
    await fixture.promote('run-0');
    const end = (triedAlone: boolean) =>
      changeNights(fixture.store, 'parcels', (before) => ({
        ...before,
        nights: before.nights.map((night) => ({ ...night, worked: true, triedAlone })),
      }));
    await decide('run-1');
    await end(false);
    const second = await decide('run-2');
    expect(second.decision.reasons).toEqual([reason]);
    expect(second.result.retires).toEqual(['a']);
    await end(true);
    expect((await decide('run-3')).decision).toMatchObject({ reasons: [], seenBefore: [reason] });
  });

  test('retires nothing where the other adapter has no record, so that it would be lost as well', async () => {
    fixture.keepsRecords = false;
    await fixture.promote('run-0');
    expect((await decide('run-1')).decision).toMatchObject({ outcome: 'nothing-new', reasons: [] });
  });

  test('keeps what the version has where nothing would be left of it', async () => {
    await fixture.promote('run-0', ['a']);
    const { decision, result } = await decide('run-1', [], { ...played, routing: () => 'a', served: () => false });
    expect(decision.adapters).toMatchObject([{ verdict: 'harms' }]);
    expect(decision.reasons.filter(({ kind }) => kind === 'harms')).toEqual([]);
    expect(result.retires).toBeUndefined();
  });

  test.each([[['a', 'mixed']], [['a', 'b', 'mixed']]])(
    'retires nothing of %p: the mixed one is not kept',
    async (ids) => {
      await fixture.promote('run-0', ids);
      const { decision } = await decide('run-1');
      expect(decision.adapters?.[0]).toMatchObject({ capabilityId: 'a', verdict: 'harms' });
      expect(decision).toMatchObject({ outcome: 'nothing-new', reasons: [] });
    },
  );

  test('a retired adapter is not made again from the same content', async () => {
    await fixture.promote('run-0');
    await decide('run-1');
    await fixture.endNights();
    await fixture.promote('run-1', ['b']);
    const all: Played = { ...played, served: () => true, routing: () => 'b' };
    const { decision, result } = await decide('run-2', [kept('a', 'recurring')], all);
    expect(decision).toMatchObject({ reasons: [], seenBefore: [{ kind: 'new', capabilityId: 'a' }] });
    expect(result.retiredBefore).toEqual(['a']);
    const other = { collect: { trials: 3 } };
    const changed = await fixture.decide('run-3', [kept('a', 'recurring')], 0, other, all);
    expect(changed.decision.reasons).toEqual([{ kind: 'new', capabilityId: 'a' }]);
    expect(changed.result.retiredBefore).toBeUndefined();
  });

  test('an adapter whose retirement was not promoted is made again where another version has none', async () => {
    await fixture.promote('run-0');
    await decide('run-1');
    await fixture.endNights();
    await fixture.promote('another', ['b']);
    const all: Played = { ...played, served: () => true, routing: () => 'b' };
    const { decision, result } = await decide('run-2', [kept('a', 'recurring')], all);
    expect(decision.reasons).toEqual([{ kind: 'new', capabilityId: 'a' }]);
    expect(result.retiredBefore).toBeUndefined();
  });
});
