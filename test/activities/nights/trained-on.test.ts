// tier: integration (real store)
import { kept, NightFixture } from './night-fixture';

describe('what is lacking still although its adapter is served', () => {
  const recurring = [kept('a', 'recurring')];
  let fixture: NightFixture;
  beforeEach(() => void (fixture = new NightFixture()));
  afterEach(() => fixture.dispose());

  test('is trained on once two nights have said so, once for each adapter', async () => {
    await fixture.promote('run-0');
    expect((await fixture.decide('run-1', recurring)).result).toMatchObject({ outcome: 'nothing-new' });
    const { result, decision } = await fixture.decide('run-2', recurring);
    expect(decision.reasons).toEqual([{ kind: 'recurring', capabilityId: 'a', adapter: '1'.repeat(64) }]);
    expect(result.continues).toEqual([{ capabilityId: 'a', sha256: '1'.repeat(64) }]);
    expect(result.sentence).toContain('a is still lacking, in two nights: its training continues');
    expect(result.sentence).not.toContain('Still lacking');
    await fixture.endNights();
    // The same adapter, in whatever version: what went on from it is known.
    const third = await fixture.decide('run-3', [kept('a', 'regressed')]);
    expect(third.decision).toMatchObject({ reasons: [], seenBefore: [{ capabilityId: 'a' }] });
    expect(third.result.continues).toBeUndefined();
    await fixture.promote('run-3', ['a', 'c']);
    for (const runId of ['run-4', 'run-5'])
      expect((await fixture.decide(runId, recurring)).decision.reasons).toEqual([]);
    await fixture.promote('run-5', ['a'], '0'.repeat(64), '2'.repeat(64));
    expect((await fixture.decide('run-6', recurring)).decision.reasons).toEqual([]);
    expect((await fixture.decide('run-7', recurring)).result.continues).toEqual([
      { capabilityId: 'a', sha256: '2'.repeat(64) },
    ]);
  });

  test('is no reason where trainings begin from zero: the same content gives the same adapter', async () => {
    await fixture.promote('run-0');
    const training = { training: { warmStart: false } };
    for (const runId of ['run-1', 'run-2'])
      expect((await fixture.decide(runId, recurring, 10, training)).result.outcome).toBe('nothing-new');
    expect((await fixture.decide('run-3', [kept('a', 'regressed')], 10, training)).decision.reasons).toEqual([
      { kind: 'regressed', capabilityId: 'a' },
    ]);
  });

  test('is no reason while its adapter passes half of the tasks that it gets', async () => {
    await fixture.promote('run-0');
    const served = (passes: number) => ({
      routing: (seed: number) => (seed < 10 ? 'a' : 'b'),
      served: (seed: number) => seed >= 10 || seed < passes,
    });
    await fixture.decide('run-1', recurring, 0, {}, served(6));
    expect((await fixture.decide('run-2', recurring, 0, {}, served(6))).decision.reasons).toEqual([]);
    expect((await fixture.decide('run-3', recurring, 0, {}, served(0))).decision.reasons).toMatchObject([
      { kind: 'recurring', capabilityId: 'a' },
    ]);
  });

  test('has to be so on the same content', async () => {
    await fixture.promote('run-0');
    await fixture.decide('run-1', recurring);
    expect((await fixture.decide('run-2', recurring, 10, { collect: { trials: 3 } })).decision.reasons).toEqual([]);
  });
});
