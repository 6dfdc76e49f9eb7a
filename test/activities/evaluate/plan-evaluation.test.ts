// tier: integration
import { planEvaluation } from '../../../activities/evaluate/plan-evaluation';
import { countComparison } from '../../../activities/evaluate/comparison-count';
import { type EvaluationPlan, evaluationPlanSchema } from '../../../contracts/artifacts/evaluation-plan';
import type { AgentSpecInput } from '../../../contracts/config/agent-spec';
import type { HeldOut } from '../../../contracts/messages/evaluate-stage';
import { minimumDetectableGain } from '../../../contracts/statistics/minimum-detectable-gain';
import type { RegistryVersion } from '../../../contracts/artifacts/registry';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import {
  activateVersion,
  addVersion,
  changeRegistry,
  getJson,
  layout,
  putJson,
  putLines,
  readNights,
  startCanary,
} from '../../../store';
import { RunFixture } from '../run-fixture';

const ADAPTER = {
  name: 'heavy@aaaaaaaaaaaa',
  capabilityId: 'heavy',
  key: 'adapters/parcels/heavy',
  sha256: 'a'.repeat(64),
};

const ROUTER = { key: 'router.json', sha256: 'c'.repeat(64), bytes: 1, mediaType: 'application/json' };

describe('planEvaluation', () => {
  let fixture: RunFixture;
  beforeEach(() => (fixture = new RunFixture()));
  afterEach(() => fixture.dispose());

  const version = (more: Partial<RegistryVersion> = {}): Omit<RegistryVersion, 'version' | 'replaced'> => ({
    runId: 'run-0',
    createdAt: '2026-11-22T00:00:00.000Z',
    baseModelSha256: '0'.repeat(64),
    adapters: [{ ...ADAPTER, summary: 'heavy parcels' }],
    routedMinusBase: { estimate: 0.4, low: 0.3, high: 0.5 },
    judgedRouter: { kind: 'logits', artifact: ROUTER },
    ...more,
  });
  const promote = (added: Omit<RegistryVersion, 'version' | 'replaced'>) =>
    changeRegistry(fixture.store, 'parcels', (registry) => addVersion(registry, added));

  async function plan(
    evaluation: AgentSpecInput['evaluation'] = {},
    heldOut?: HeldOut,
    runId = 'run-1',
    failed?: number,
  ) {
    const spec = { evaluation: { trials: 2, ...evaluation } };
    const context = await fixture.prepare('http://127.0.0.1:1', spec, undefined, runId);
    const trajectory = (seed: number, trial: number): Trajectory => ({
      id: `${seed}${trial}`.padStart(64, '0'),
      task: { split: 'train', seed },
      trial,
      model: 'base',
      samplingSeed: 1,
      messages: [],
      reward: 0,
      success: seed % 2 === 0 || trial === 0,
      finish: 'done',
      steps: 1,
      usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
      tags: [],
      diagnostics: {},
    });
    const lines = Array.from({ length: 20 }, (_, i) => trajectory(Math.floor(i / 2), i % 2));
    const trajectories = await putLines(fixture.store, layout.run('run-1'), 'trajectories.jsonl', lines);
    const result = await fixture.run(planEvaluation.bind(null, fixture.store), {
      context,
      trajectories,
      ...(failed !== undefined && { failed }),
      ...(heldOut && { heldOut }),
    });
    return { result, plan: await getJson<EvaluationPlan>(fixture.store, result.plan, evaluationPlanSchema) };
  }

  it('has base alone to beat where no version is active, and says what it can prove', async () => {
    const { result, plan: written } = await plan();
    expect(result.incumbent).toBeNull();
    expect(written).toMatchObject({ active: null, canary: null, basePassRate: 0.75, tasks: 10, trials: 2 });
    expect(written.noIncumbent).toContain('No version is active');
    expect(written.minimumDetectableGain).toBeGreaterThan(0.3);
    expect(result.summary).toMatch(/^comparison 1 with base; a gain of \d+\.\d points or more can be proved$/);
    expect(result.heldOut).toEqual({ trials: 2 });
    expect(written.aim).toBeUndefined();
  });

  it('plans the fewest trials that prove the wanted gain', async () => {
    const { result, plan: written } = await plan({ detectableGain: 0.57, maxTrials: 8 });
    // Half of the tasks are a toss of a coin: 1/4 within these, 1/4 x 1/2 in the mean, all ten tasks together.
    const provable = (trials: number) =>
      minimumDetectableGain({ tasks: 10, trials, confidence: written.judging.confidence, withinTask: 0.25 * 0.75 });
    expect(provable(3)).toBeGreaterThan(0.57);
    expect(provable(4)).toBeLessThan(0.57);
    expect(written).toMatchObject({ trials: 4, aim: { gain: 0.57, leastTrials: 2, mostTrials: 8, reached: true } });
    expect(written.minimumDetectableGain).toBeCloseTo(provable(4), 9);
    expect(result.heldOut).toEqual({ trials: 4 });
    expect(result.summary).toMatch(/can be proved with 4 trials$/);
  });

  it('expects as many failed episodes as on the train tasks, which prove less', async () => {
    const aim = { detectableGain: 0.57, maxTrials: 8 };
    const [{ plan: quiet }, { plan: flaky }] = [await plan(aim), await plan(aim, undefined, 'run-2', 0.2)];
    expect([quiet.failed, flaky.failed]).toEqual([undefined, 0.2]);
    expect(flaky.trials).toBeGreaterThan(quiet.trials);
  });

  it('says that the wanted gain is not reached, and plays twice the trials at most', async () => {
    const { result, plan: written } = await plan({ detectableGain: 0.05 });
    expect(written).toMatchObject({ trials: 4, aim: { mostTrials: 4, reached: false } });
    expect(written.aim!.floor).toBeGreaterThan(0.05);
    expect(result.summary).toMatch(/can be proved with 4 trials, not the 5\.0 points wanted$/);
  });

  it('is about what an earlier plan of the run has had played', async () => {
    const { result, plan: written } = await plan({ detectableGain: 0.05, maxTrials: 8 }, { trials: 3 });
    expect(written).toMatchObject({ trials: 3, aim: { reached: false } });
    expect(result.heldOut).toEqual({ trials: 3 });
  });

  describe('with fewer tasks than there are', () => {
    const compared = (runId: string, against: number | null = null) =>
      countComparison(fixture.store, 'parcels', { runId, against, baseModel: '0'.repeat(64) }, 0.95);
    const planOf = async (runId: string) => {
      const planned = await plan({ heldOutTasks: 4 }, undefined, runId);
      expect(planned.result.heldOut?.seeds).toEqual(planned.plan.rotation?.seeds);
      return planned.plan;
    };

    it('each run judges on the next block, which wraps at the end', async () => {
      const first = await planOf('run-1');
      expect(first).toMatchObject({ tasks: 4, rotation: { block: 1, of: 10, seeds: [{ start: 1000, count: 4 }] } });
      await compared('run-1');
      expect((await planOf('run-2')).rotation).toEqual({ block: 2, of: 10, seeds: [{ start: 1004, count: 4 }] });
      await compared('run-2');
      expect((await planOf('run-3')).rotation).toEqual({
        ...{ block: 3, of: 10 },
        seeds: [
          { start: 1008, count: 2 },
          { start: 1000, count: 2 },
        ],
      });
      // It can prove less than all tasks together.
      const all = await plan({}, undefined, 'run-4');
      expect(all.plan.rotation).toBeUndefined();
      expect(first.minimumDetectableGain).toBeGreaterThan(all.plan.minimumDetectableGain);
    });

    it('a run keeps its block, whoever is compared in between, and uses it once with two rivals', async () => {
      const own = (await planOf('run-1')).rotation;
      await compared('run-2');
      expect((await planOf('run-1')).rotation).toEqual(own);
      await compared('run-1');
      await compared('run-1', 3);
      expect((await planOf('run-1')).rotation).toEqual(own);
      expect((await planOf('run-3')).rotation?.block).toBe(3);
    });

    it('a run that ended before its comparison uses up no block', async () => {
      await planOf('run-1');
      expect((await planOf('run-2')).rotation?.block).toBe(1);
    });

    it('nothing is written down where all tasks are played', async () => {
      const { plan: written, result } = await plan({ heldOutTasks: 10 });
      expect([written.rotation, result.heldOut]).toEqual([undefined, { trials: 2 }]);
      expect(await readNights(fixture.store, 'parcels')).not.toHaveProperty('heldOutBlocks');
    });
  });

  it('freezes the active version with the router that it was judged with', async () => {
    const artifact = await putJson(fixture.store, layout.evaluation('run-0'), 'router.json', {
      kind: 'mixed',
      leftOut: [],
    });
    await promote(version({ judgedRouter: { kind: 'mixed', artifact } }));
    const { result, plan: written } = await plan();
    expect(result.incumbent).toEqual({
      version: 1,
      runId: 'run-0',
      adapters: [ADAPTER],
      capabilities: [{ id: 'heavy', name: 'heavy', summary: 'heavy parcels' }],
      router: artifact,
    });
    expect(written).toMatchObject({ active: 1, noIncumbent: null });
    expect(written.judging).toEqual({ against: 1, comparison: 1, confidence: expect.closeTo(0.9696, 4) });
  });

  it.each([
    [
      'was trained on another base model',
      { baseModelSha256: 'f'.repeat(64) },
      'trained on another base model (ffffffffffff',
    ],
    ['has no adapters', { adapters: [] }, 'has no adapters'],
  ])('a version that %s is no arm', async (_, more, words) => {
    await promote(version(more));
    const { result, plan: written } = await plan();
    expect(result.incumbent).toBeNull();
    expect(written.active).toBe(1);
    expect(written.noIncumbent).toContain(words);
  });

  it('takes the active version and not the newest, and notes a canary', async () => {
    await promote(version());
    await promote(version({ runId: 'run-00' }));
    await changeRegistry(fixture.store, 'parcels', (registry) => activateVersion(registry, 1));
    const canary = {
      id: 'a'.repeat(12),
      version: 2,
      share: 0.1,
      falseRollback: 0.05,
      startedAt: '2026-11-22T00:00:00Z',
    };
    await changeRegistry(fixture.store, 'parcels', (registry) => startCanary(registry, canary));
    const { result, plan: written } = await plan();
    expect(result.incumbent?.version).toBe(1);
    expect(written.canary).toEqual({ version: 2, share: 0.1 });
  });
});
