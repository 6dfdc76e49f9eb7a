// tier: integration (real store)
import { planNight } from '../../../activities/nights/plan-night';
import { driftsOf } from '../../../activities/nights/drift';
import { nightPlanSchema, type LackCount, type Nights } from '../../../contracts/artifacts/night';
import { getJson, readNights } from '../../../store';
import { type FoundContrast, kept, NightFixture, type Played } from './night-fixture';

const CONTENT = { environment: 'e', baseModel: 'b', options: 'o' };
const count = (lacking: number, tasks = 75, capabilityId = 'a'): LackCount => ({ capabilityId, tasks, lacking });
const night = (lack: LackCount[], version = 1): Nights['nights'][number] => ({
  ...{ runId: 'r', night: 1, version, content: CONTENT, outcome: 'nothing-new', reasons: [], worked: true, lack },
});
const drift = (lacking: readonly number[], tasks = 75) => {
  const nights = lacking.slice(0, -1).map((one) => night([count(one, tasks)]));
  return driftsOf([count(lacking.at(-1)!, tasks)], { version: 1, content: CONTENT, nights });
};

describe('a trend over nights', () => {
  test('that rises night by night is seen, with its shares', () => {
    expect(drift([6, 8, 10, 13, 16, 18, 21, 24])).toEqual([
      expect.objectContaining({ capabilityId: 'a', nights: 8, tasks: 600, earlier: 37 / 300, later: 79 / 300 }),
    ]);
    // Look 4 of one capability: 1 - 0.05 x 6 / (pi^2 16).
    expect(drift([6, 8, 10, 13, 16, 18, 21, 24])[0]!.confidence).toBeCloseTo(0.9981, 4);
  });

  test.each([
    ['falls', [24, 21, 18, 16, 13, 10, 8, 6]],
    ['is one night', [6, 7, 6, 7, 6, 7, 6, 14]],
    ['is shorter than five nights', [3, 15, 30, 60]],
    ['has too few lacking tasks', [0, 0, 0, 0, 0, 1, 3, 5]],
  ])('that %s is none', (_, lacking) => {
    expect(drift(lacking)).toEqual([]);
  });

  test('is one of a version and a content, and nights without counts say nothing', () => {
    const rising = [6, 8, 10, 13, 16, 18, 21].map((one) => night([count(one)]));
    const seen = (nights: Nights['nights']) => driftsOf([count(24)], { version: 1, content: CONTENT, nights });
    expect(seen(rising)).toHaveLength(1);
    expect(seen(rising.map((one) => ({ ...one, version: 2 })))).toEqual([]);
    expect(seen(rising.map((one) => ({ ...one, content: { ...CONTENT, options: 'p' } })))).toEqual([]);
    expect(seen(rising.map(({ lack: _, ...one }) => one))).toEqual([]);
    expect(seen(rising.map((one) => ({ ...one, outcome: null })))).toEqual([]);
  });
});

/** Versions that serve unchanged: the share that ever has a drift, and the share of their nights that name one. */
function falseAlarms({
  versions,
  nights,
  tasks,
  rates,
}: Record<'versions' | 'nights' | 'tasks', number> & {
  rates: readonly number[];
}): { versions: number; nights: number } {
  let state = 7;
  const draw = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  let [ever, named] = [0, 0];
  for (let version = 0; version < versions; version++) {
    const before: Nights['nights'] = [];
    let said = 0;
    for (let i = 0; i < nights; i++) {
      const tonight = rates.map((rate, id) => {
        const lacking = Array.from({ length: tasks }, draw).filter((u) => u < rate).length;
        return count(lacking, tasks, `capability-${id}`);
      });
      if (driftsOf(tonight, { version: 1, content: CONTENT, nights: before }).length > 0) said++;
      before.push(night(tonight));
    }
    ever += said > 0 ? 1 : 0;
    named += said;
  }
  return { versions: ever / versions, nights: named / (versions * nights) };
}

test.each([
  [75, [0.05, 0.1, 0.2, 0.4, 0.6]],
  [20, [0.1, 0.3, 0.3, 0.5, 0.9]],
])('nights of %p tasks without a change rarely name a drift', (tasks, rates) => {
  const share = falseAlarms({ versions: 200, nights: 40, tasks, rates });
  // 4.0 % and 2.5 % of the versions, 0.11 % and 0.06 % of their nights.
  expect(share.versions).toBeLessThanOrEqual(0.05);
  expect(share.nights).toBeLessThanOrEqual(0.002);
});

describe('a night in which something drifts', () => {
  let fixture: NightFixture;
  beforeEach(() => void (fixture = new NightFixture()));
  afterEach(() => fixture.dispose());

  const RISING = [0, 2, 4, 6, 9];
  const played = (lacking: number): Played => ({ lacking: { a: lacking, b: 3 } });
  const rejected: FoundContrast = { capabilityId: 'a', verdict: 'rejected', status: 'fixed' };
  /** Nights in which nothing is found, and one of which `last` is found. */
  async function drifting(last: FoundContrast) {
    await fixture.promote('run-0');
    for (const [i, lacking] of RISING.slice(0, -1).entries())
      expect(
        (await fixture.decide(`run-${i + 1}`, [rejected], 10, {}, played(lacking))).decision.drifts,
      ).toBeUndefined();
    await fixture.endNights();
    return fixture.decide('run-5', [last], 10, {}, played(RISING.at(-1)!));
  }

  test('below the thresholds it is watched: named, counted, and measured with twice the tasks', async () => {
    const { decision, result } = await drifting(rejected);
    expect(decision).toMatchObject({
      outcome: 'nothing-new',
      reasons: [],
      capabilities: [{ id: 'a', state: 'drifting', inVersion: true }],
      drifts: [{ capabilityId: 'a', nights: 5, tasks: 100, earlier: 0.05, later: 0.375 }],
    });
    expect(result.sentence).toMatch(/Drifting: a, lacking in 5\.0.% and then 37\.5.% of the tasks of 5 nights\./);
    const { nights } = await readNights(fixture.store, 'parcels');
    expect(nights.at(-1)).toMatchObject({ drifting: ['a'], lack: [{ capabilityId: 'a', tasks: 20, lacking: 9 }, {}] });
    const planned = await fixture.run(planNight.bind(null, fixture.store), await fixture.prepareNight('run-7'));
    expect(planned.measure!.seeds.reduce((sum, { count: tasks }) => sum + tasks, 0)).toBe(40);
    const plan = await getJson(fixture.store, planned.plan, nightPlanSchema);
    expect(plan.why).toContain('on 40 train tasks (more than usual, because something drifts)');
    // Another version is measured as ever.
    await fixture.promote('run-6', ['a', 'b'], '0'.repeat(64), '2'.repeat(64));
    const other = await fixture.run(planNight.bind(null, fixture.store), await fixture.prepareNight('run-8'));
    expect(other.measure!.seeds.reduce((sum, { count: tasks }) => sum + tasks, 0)).toBe(20);
  });

  test('above the thresholds its training continues from its adapter, once for the adapter', async () => {
    const reason = { kind: 'drifting', capabilityId: 'a', adapter: '1'.repeat(64) };
    const { decision, result } = await drifting(kept('a', 'recurring'));
    expect(decision).toMatchObject({ outcome: 'goes-on', reasons: [reason] });
    expect(result.continues).toEqual([{ capabilityId: 'a', sha256: '1'.repeat(64) }]);
    expect(result.sentence).toContain(
      'a is lacking and drifts: its training continues from the adapter that is served',
    );
    await fixture.endNights();
    const again = await fixture.decide('run-7', [kept('a', 'recurring')], 10, {}, played(11));
    expect(again.decision).toMatchObject({ outcome: 'nothing-new', seenBefore: [reason] });
  });

  test('what one night has found by itself is named as that', async () => {
    const { decision } = await drifting(kept('a', 'regressed'));
    expect(decision.capabilities).toEqual([{ id: 'a', state: 'regressed', inVersion: true }]);
    expect(decision.reasons[0]).toMatchObject({ kind: 'regressed' });
  });
});
