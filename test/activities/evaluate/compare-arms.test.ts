// tier: integration
import { compareArms, evaluationSummary } from '../../../activities/evaluate/compare-arms';
import { type Outcome, pairOutcomes } from '../../../activities/evaluate/outcome-table';
import { type Evaluation, evaluationSchema } from '../../../contracts/artifacts/evaluation';
import type { TrainedAdapter, TrainingManifest } from '../../../contracts/artifacts/training';
import type { RolloutSummary } from '../../../contracts/artifacts/trajectory';
import type { CompareInput } from '../../../contracts/messages/evaluate-stage';
import { getJson, layout, putJson, putLines } from '../../../store';
import { RunFixture } from '../run-fixture';
import { drawOutcomes, type Kind } from './population';
import { samplePlan, sampleRouterChoice } from './sample-evaluation';

const HASH = 'a'.repeat(64);
const adapter = (capabilityId: string): TrainedAdapter => ({
  name: `${capabilityId}@aaaaaaaaaaaa`,
  capabilityId,
  sha256: HASH,
  key: `adapters/x/${capabilityId}`,
  manifest: { key: 'm.json', sha256: HASH, bytes: 1, mediaType: 'application/json' },
  rollouts: 640,
  seconds: 20,
  finalReward: 0.9,
});
const VERIFY = adapter('checks-identity');
const ADDRESS = adapter('writes-postal-code');
const arms = (base: number, verify: number, address: number, routed: number) => ({
  base,
  [VERIFY.name]: verify,
  [ADDRESS.name]: address,
  routed,
});

/** A training whose reward rose from 0.2 to 0.9. */
const MANIFEST: TrainingManifest = {
  jobId: 'x',
  jobSha256: HASH,
  baseModelSha256: HASH,
  trainerVersion: '0',
  adapterSha256: HASH,
  adapterDir: 'x',
  iterations: 10,
  rollouts: 640,
  seconds: { total: 1, generation: 1, update: 0, startup: 0 },
  completionTokens: 1,
  curve: [0.2, 0.5, 0.9].map((reward, i) => ({ iteration: i + 1, reward, kl: 0, loss: 0 })),
  finalReward: 0.9,
  environmentSha256: [HASH],
};

/** Two skills that an adapter mends, tasks that need neither, and tasks that need both. */
const KINDS: Kind[] = [
  { share: 0.3, tags: ['verify-before-refund'], pass: arms(0.2, 0.9, 0.1, 0.9) },
  { share: 0.3, tags: ['append-zip'], pass: arms(0.2, 0.15, 0.95, 0.95) },
  { share: 0.3, tags: [], pass: arms(0.9, 0.85, 0.85, 0.9) },
  { share: 0.1, tags: ['append-zip', 'verify-before-refund'], pass: arms(0.05, 0.1, 0.1, 0.1) },
];

describe('compareArms', () => {
  let fixture: RunFixture;
  beforeEach(() => (fixture = new RunFixture()));
  afterEach(() => fixture.dispose());

  async function input(
    outcomes: { name: string; outcomes: Outcome[] }[],
    trials = 2,
    groundTruth?: { planted: string[] },
  ): Promise<CompareInput> {
    const context = await fixture.prepare('http://127.0.0.1:1', {
      evaluation: { trials, bootstrapSamples: 1000 },
      ...(groundTruth && { groundTruth }),
    });
    const { store } = fixture;
    const folder = layout.evaluation('run-1');
    const manifest = await putJson(store, 'runs/run-1/training', 'manifest.json', MANIFEST);
    const rollouts = async (name: string, lines: Outcome[]): Promise<RolloutSummary> => ({
      trajectories: await putLines(store, layout.evaluation('run-1'), `arm-${name}.jsonl`, lines),
      episodes: lines.length,
      successes: lines.filter((line) => line.success).length,
      failures: lines.filter((line) => !line.success).length,
      promptTokens: 0,
      completionTokens: 0,
      seconds: 1,
    });
    const choose = (tags: string[]) =>
      tags.includes('verify-before-refund')
        ? VERIFY.capabilityId
        : tags.includes('append-zip')
          ? ADDRESS.capabilityId
          : 'none';
    const base = outcomes.find((arm) => arm.name === 'base')!.outcomes.filter((outcome) => outcome.trial === 0);
    const routing = base.map(({ task, tags }) => ({
      seed: task.seed,
      capabilityId: choose(tags),
      probabilities: [0.8, 0.1, 0.1],
      coveredMass: 0.97,
    }));
    return {
      context,
      arms: await Promise.all(
        outcomes.map(async ({ name, outcomes: lines }) => ({
          arm: name,
          kind: name === 'base' || name === 'routed' ? name : ('adapter' as const),
          rollouts: await rollouts(name.replace('@', '-'), lines),
        })),
      ),
      capabilities: [VERIFY, ADDRESS].map(({ capabilityId: id }) => ({ id, name: id, summary: id })),
      adapters: [VERIFY, ADDRESS].map((one) => ({ ...one, manifest })),
      routing: await putLines(store, folder, 'routing.jsonl', routing),
      router: await putJson(store, folder, 'router.json', { kind: 'base', leftOut: [] }),
      routerChoice: await putJson(store, folder, 'router-choice.json', sampleRouterChoice()),
      plan: await putJson(store, folder, 'evaluation-plan.json', samplePlan({ trials })),
    };
  }

  const compare = (value: CompareInput) => compareArms(fixture.store, value);

  it('finds the gain, the expected choices and nothing lost, and passes the gate', async () => {
    const result = await compare(await input(drawOutcomes(KINDS, 300, 2, 1), 2, { planted: ['verify'] }));
    const evaluation = await getJson(fixture.store, result.evaluation, evaluationSchema);
    expect(evaluation.tasks).toBe(300);
    expect(evaluation.base.episodes).toBe(600);
    const truth = 0.3 * 0.7 + 0.3 * 0.75 + 0.1 * 0.05;
    expect(evaluation.routedMinusBase.low).toBeLessThan(truth);
    expect(evaluation.routedMinusBase.high).toBeGreaterThan(truth);
    expect(evaluation.routed.minusBase.estimate).toBeCloseTo(
      evaluation.routed.passRate.estimate - evaluation.base.passRate.estimate,
      12,
    );
    expect(evaluation.oracle.passRate.estimate).toBeLessThanOrEqual(evaluation.oracleCeiling);
    expect(evaluation.router.expected).toEqual([
      { tag: 'append-zip', capabilityId: ADDRESS.capabilityId },
      { tag: 'verify-before-refund', capabilityId: VERIFY.capabilityId },
      { tag: 'none', capabilityId: 'none' },
    ]);
    expect(evaluation.router.accuracy).toBe(1);
    expect(evaluation.byTag.map((row) => row.tag)).toEqual(['append-zip', 'verify-before-refund', 'several', 'none']);
    expect(evaluation.byTag.reduce((sum, row) => sum + row.tasks, 0)).toBe(300);
    expect(evaluation.router.confusion.reduce((sum, cell) => sum + cell.tasks, 0)).toBe(300);
    expect(evaluation.regression.significant).toBe(false);
    expect(result.gatePassed).toBe(true);
    expect(result.summary).toMatch(
      /^base \d+\.\d %, best single \d+\.\d %, routed \d+\.\d %, difference \+\d+\.\d points \(95 % interval \+\d+\.\d to \+\d+\.\d points\)$/,
    );
  });

  it('reads no tags of an agent whose deficits were not planted, and decides the same', async () => {
    const outcomes = drawOutcomes(KINDS, 300, 2, 1);
    const planted = await compare(await input(outcomes, 2, { planted: ['verify'] }));
    const plain = await compare(await input(outcomes));
    const evaluation = await getJson(fixture.store, plain.evaluation, evaluationSchema);
    expect([evaluation.byTag, evaluation.router.expected, evaluation.router.accuracy]).toEqual([[], [], null]);
    expect([plain.gatePassed, plain.gateReasons, plain.summary]).toEqual([
      planted.gatePassed,
      planted.gateReasons,
      planted.summary,
    ]);
  });

  it('does not pass a candidate that beats base and not the active version, and says so with figures', async () => {
    const { store } = fixture;
    const kinds: Kind[] = KINDS.map((kind) => ({ ...kind, pass: { ...kind.pass, incumbent: kind.pass['routed']! } }));
    // Five iterations of training: much better than base, much worse than what is served.
    const weaker = kinds.map((kind) => ({
      ...kind,
      pass: { ...kind.pass, routed: (kind.pass['routed']! + kind.pass['base']!) / 2 },
    }));
    const value = await input(drawOutcomes(weaker, 300, 2, 5));
    const before = { ...VERIFY, name: 'checks-identity@bbbbbbbbbbbb' };
    const seeds = Array.from({ length: 300 }, (_, i) => 1000 + i);
    const served = seeds.map((seed) => ({
      seed,
      capabilityId: 'checks-identity',
      probabilities: [1],
      coveredMass: null,
    }));
    const plan = samplePlan({ active: 1, canary: { version: 2, share: 0.1 } });
    const judged: CompareInput = {
      ...value,
      arms: value.arms.map((arm) => (arm.arm === 'incumbent' ? { ...arm, kind: 'incumbent' as const } : arm)),
      plan: await putJson(store, layout.evaluation('run-1'), 'evaluation-plan.json', plan),
      incumbent: {
        version: 1,
        runId: 'run-0',
        adapters: [before],
        capabilities: [],
        router: value.router,
        routing: await putLines(store, layout.evaluation('run-1'), 'incumbent-routing.jsonl', served),
      },
    };
    const result = await compare(judged);
    const evaluation = await getJson(store, result.evaluation, evaluationSchema);
    expect(evaluation.routedMinusBase.low).toBeGreaterThan(0.1);
    expect(evaluation.incumbent!.routedMinus.high).toBeLessThan(0);
    expect(evaluation.incumbent!.differing).toBe(300);
    expect(result).toMatchObject({ gatePassed: false, culprit: 'incumbent' });
    expect(result.gateReasons.join('\n')).toMatch(
      /Routed minus the active version 1 is −\d+\.\d points .*it beats base, but it is worse than what is served now, so version 1 stays\./,
    );
    expect(result.gateReasons.join('\n')).toContain('A canary of version 2 had 10 % of the conversations');

    // The same adapters behind the same router: there is nothing to promote, whatever the dice say.
    const same = { ...judged, incumbent: { ...judged.incumbent!, adapters: judged.adapters, routing: judged.routing } };
    const again = await compare(same);
    expect(again.gatePassed).toBe(false);
    expect(again.gateReasons.join('\n')).toContain('the same adapter as in the active version 1');
  });

  it.each<[string, string[], string[], boolean]>([
    ['what a night asked to do without', ['gone'], [], true],
    ['a member that could not be kept, too', ['gone', 'lost'], [], false],
    ['a member that the router leaves out, too', ['gone'], [ADDRESS.capabilityId], false],
    ['nothing', [], [], false],
  ])('judges as a retirement what is served without %s: with %p less', async (_, less, leftOut, isAlone) => {
    const { store } = fixture;
    const kinds: Kind[] = KINDS.map((kind) => ({ ...kind, pass: { ...kind.pass, incumbent: kind.pass['routed']! } }));
    const value = await input(drawOutcomes(kinds, 120, 2, 5));
    const routing = Array.from({ length: 120 }, (_each, i) => ({
      ...{ seed: 1000 + i, capabilityId: 'none', probabilities: [1], coveredMass: null },
    }));
    const folder = layout.evaluation('run-1');
    const router = await putJson(store, folder, 'router.json', { kind: 'base', leftOut });
    const result = await compare({
      ...{ ...value, router, retires: ['gone'] },
      arms: value.arms.map((arm) => (arm.arm === 'incumbent' ? { ...arm, kind: 'incumbent' as const } : arm)),
      incumbent: {
        ...{ version: 1, runId: 'run-0', capabilities: [], router },
        adapters: [VERIFY, ADDRESS, ...less.map(adapter)],
        routing: await putLines(store, folder, 'incumbent-routing.jsonl', routing),
      },
    });
    expect(result.gateReasons.join('\n').includes('it only does without gone')).toBe(isAlone);
  });

  it('judges each further comparison with the same rival more strictly, and counts a run once', async () => {
    const { store } = fixture;
    const value = await input(drawOutcomes(KINDS, 60, 2, 2));
    const judgedAs = async (runId: string, against: number | null) => {
      const plan = samplePlan({ active: against, judging: { against, comparison: 1, confidence: 0.9 } });
      const ref = await putJson(store, layout.evaluation(runId), 'evaluation-plan.json', plan);
      const result = await compare({ ...value, context: { ...value.context, runId }, plan: ref });
      const { judged, routedMinusBase } = await getJson(store, result.evaluation, evaluationSchema);
      expect(judged.routedMinusBase.estimate).toBe(routedMinusBase.estimate);
      expect(judged.routedMinusBase.low).toBeLessThan(routedMinusBase.low);
      expect(result.gateReasons.join(' ')).toContain(`as comparison ${judged.comparison} with`);
      return [judged.comparison, Number(judged.confidence.toFixed(4)), result.evaluation.sha256];
    };
    const first = await judgedAs('run-1', null);
    expect(first.slice(0, 2)).toEqual([1, 0.9696]);
    expect((await judgedAs('run-2', null)).slice(0, 2)).toEqual([2, 0.9924]);
    // Executed again, by a retry or by a repair, it is the same comparison.
    expect(await judgedAs('run-1', null)).toEqual(first);
    expect((await judgedAs('run-3', null)).slice(0, 2)).toEqual([3, 0.9966]);
    // A version that was promoted begins anew.
    expect((await judgedAs('run-4', 1)).slice(0, 2)).toEqual([1, 0.9696]);
  });

  it('pairs as many trials as were planned', async () => {
    const value = await input(drawOutcomes(KINDS, 60, 3, 2));
    const aim = { gain: 0.08, leastTrials: 2, mostTrials: 3, reached: false, floor: 0.09 };
    const plan = samplePlan({ trials: 3, minimumDetectableGain: 0.1, aim });
    const ref = await putJson(fixture.store, layout.evaluation('run-1'), 'evaluation-plan.json', plan);
    const result = await compare({ ...value, plan: ref });
    const { trials, base } = await getJson(fixture.store, result.evaluation, evaluationSchema);
    expect([trials, base.episodes]).toEqual([3, 180]);
    expect(result.gateReasons.join(' ')).toContain(
      'Not reached: the 8.0 points wanted (evaluation.detectableGain). 3 trials, the most that may be played, prove ' +
        '10.0; any number of trials on these tasks proves 9.0 points at best, and only more held-out tasks prove less.',
    );
  });

  it('is judged again when another run was counted while it was judged', async () => {
    const { store } = fixture;
    const value = await input(drawOutcomes(KINDS, 60, 2, 2));
    const of = (runId: string) => compare({ ...value, context: { ...value.context, runId } });
    const both = await Promise.all(['run-a', 'run-b'].map(of));
    const numbers: number[] = [];
    for (const { evaluation } of both)
      numbers.push((await getJson(store, evaluation, evaluationSchema)).judged.comparison);
    expect(numbers.sort()).toEqual([1, 2]);
  });

  it('says why there is no mixed adapter to compare with', async () => {
    const result = await compare({
      ...(await input(drawOutcomes(KINDS, 60, 2, 2))),
      mixedFailure: 'Trainer.Diverged: The policy has collapsed.',
    });
    const { caveats } = await getJson(fixture.store, result.evaluation, evaluationSchema);
    expect(caveats.at(-1)).toBe(
      'The mixed adapter was left out, so nothing is compared with it. ' +
        'Trainer.Diverged: The policy has collapsed.',
    );
  });

  it('gives the same artifact when it is repeated', async () => {
    const value = await input(drawOutcomes(KINDS, 60, 2, 2));
    expect(await compare(value)).toEqual(await compare(value));
  });

  it('leaves out tasks that an arm did not finish, and says so', async () => {
    const drawn = drawOutcomes(KINDS, 60, 2, 3);
    drawn[1]!.outcomes.pop();
    const { evaluation } = await compare(await input(drawn));
    const { tasks, caveats } = await getJson(fixture.store, evaluation, evaluationSchema);
    expect(tasks).toBe(59);
    expect(caveats.join(' ')).toContain('1 held-out task is in no figure');
  });

  it('fails for good when the arms share no task', async () => {
    const drawn = drawOutcomes(KINDS, 20, 2, 4);
    drawn[2]!.outcomes = [];
    await expect(compare(await input(drawn))).rejects.toMatchObject({ type: 'Evaluate.Unpaired', nonRetryable: true });
  });
});

describe('pairOutcomes', () => {
  it('refuses a trial that is there twice', () => {
    const outcome: Outcome = { task: { seed: 3 }, trial: 0, success: true, tags: [] };
    expect(() => pairOutcomes([{ name: 'base', outcomes: [outcome, outcome] }], 1)).toThrow('trial 0 of task 3 twice');
  });
});

describe('evaluationSummary', () => {
  it('is a line for people', () => {
    const rate = (estimate: number) => ({ passRate: { estimate, low: 0, high: 1 } });
    const figures = {
      base: rate(0.341),
      bestSingle: rate(0.48),
      routed: rate(0.802),
      confidence: 0.95,
      routedMinusBase: { estimate: 0.461, low: 0.41, high: 0.512 },
    } as Evaluation;
    expect(evaluationSummary(figures)).toBe(
      'base 34.1 %, best single 48.0 %, routed 80.2 %, difference +46.1 points (95 % interval +41.0 to +51.2 points)',
    );
    const incumbent = { version: 3, arm: rate(0.7) } as Evaluation['incumbent'];
    expect(evaluationSummary({ ...figures, incumbent })).toContain('version 3 70.0 %, routed 80.2 %');
  });
});
