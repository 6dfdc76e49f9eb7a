// tier: unit
import { rewardGain } from '../../../activities/evaluate/diagnosis';
import { decideGate } from '../../../activities/evaluate/gate';
import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import type { Evaluation } from '../../../contracts/artifacts/evaluation';
import type { EvaluationPlan } from '../../../contracts/artifacts/evaluation-plan';
import { samplePlan, sampleRouterChoice } from './sample-evaluation';

type Three = readonly [number, number, number];
const SETTINGS = { minGain: 0, maxRegression: 0.05, maxSureLoss: 0.05, lossMargin: 0.1 };
const GAIN: Three = [0.41, 0.46, 0.51];
const NO_LOSS: Three = [-0.02, 0.01, 0.03];
const interval = ([low, estimate, high]: Three) => ({ estimate, low, high });

function evaluation(gain: Three, loss: Three, more: { oracle?: Three; tasks?: number } = {}): Evaluation {
  const { tasks = 100, oracle = [0.4, 0.5, 0.6] } = more;
  const figures = {
    tasks: 400,
    trials: 2,
    confidence: 0.95,
    routed: { passRate: interval([0.8, 0.8, 0.8]) },
    oracle: { minusBase: interval(oracle) },
    router: { choice: sampleRouterChoice() },
    plan: samplePlan({ minimumDetectableGain: (gain[2] - gain[0]) / 2 }),
    routedMinusBase: interval(gain),
    regression: { tasks, loss: interval(loss), significant: loss[0] > 0 },
    sureLoss: null,
    judged: {
      ...{ against: null, comparison: 1, confidence: 0.95, routedMinusBase: interval(gain) },
      ...{ routedMinusIncumbent: null, loss: tasks === 0 ? null : interval(loss) },
    },
  };
  return figures as unknown as Evaluation;
}

/** The same, beside an active version that passes 75 %. */
const against = (figures: Evaluation, routedMinus: Three, loss: Three = NO_LOSS, differing = 300): Evaluation => ({
  ...figures,
  incumbent: {
    version: 3,
    arm: { passRate: interval([0.75, 0.75, 0.75]) } as Evaluation['base'],
    routedMinus: interval(routedMinus),
    differing,
    regression: { tasks: 200, loss: interval(loss), significant: loss[0] > 0 },
  },
  judged: { ...figures.judged, against: 3, routedMinusIncumbent: interval(routedMinus), loss: interval(loss) },
});

describe('the gate without an active version', () => {
  it.each([
    ['a clear gain without loss', GAIN, NO_LOSS, true],
    ['a gain that may be nothing', [-0.01, 0.03, 0.07], NO_LOSS, false],
    ['a gain exactly at the limit', [0, 0.03, 0.07], NO_LOSS, false],
    ['a loss that cannot be excluded', GAIN, [-0.02, 0.09, 0.2], false],
    ['a loss whose upper end is exactly the margin', GAIN, [-0.02, 0.04, 0.1], false],
    ['a significant loss within the limit', GAIN, [0.01, 0.03, 0.05], true],
    ['a significant loss over the limit', GAIN, [0.02, 0.06, 0.09], false],
  ] as const)('%s', (_, gain, loss, passed) => {
    expect(decideGate(evaluation(gain, loss), SETTINGS).passed).toBe(passed);
  });

  it('refuses tasks that are lost for good, though lucky ones pay for them, and asks for no more trials', () => {
    const lost = (count: number): Evaluation => ({
      ...evaluation(GAIN, [-0.02, 0.028, 0.12]),
      sureLoss: {
        ...{ tasks: 75, lost: count, luck: 0.02, chance: count > 20 ? 0 : 0.19 },
        byCapability: [{ capabilityId: 'spin', lost: count }],
      },
    });
    const refused = decideGate(lost(26), SETTINGS, [{ capabilityId: 'spin', gain: 0.6 }]);
    expect(refused).toMatchObject({ passed: false, culprit: 'environment' });
    expect(refused.reasons[2]).toBe(
      'Of the 75 tasks that base passes in all trials, routed passes 26 in none (34.7 %; luck explains 2.0 %): more ' +
        'than the 5.0 % allowed beyond luck.',
    );
    expect(refused.reasons.at(-1)).toBe(
      'The cause is what the adapter for spin was trained in. It learned what its environment rewards, and now fails ' +
        "26 of the 75 tasks that base passes in all trials: compare the environment with the agent's own on such " +
        'tasks. More tasks or trials will hardly change that.',
    );
    expect(decideGate(lost(26), SETTINGS, [{ capabilityId: 'spin', gain: 0.01 }]).culprit).toBe('adapter');
    const switched = { ...lost(26).sureLoss!, byCapability: [{ capabilityId: 'none', lost: 26 }] };
    expect(decideGate({ ...lost(26), sureLoss: switched }, SETTINGS).reasons.at(-1)).toContain(
      'The cause is the adapter that conversations switch to: it fails 26 of the 75 tasks',
    );
    expect(decideGate(lost(3), SETTINGS).reasons[2]).toContain('3 in none (4.0 %; luck explains 2.0 %): not more than');
  });

  it('gives its reasons in sentences with numbers', () => {
    expect(decideGate(evaluation(GAIN, [0.02, 0.08, 0.14]), SETTINGS).reasons.slice(0, 3)).toEqual([
      'Routed minus base on 400 held-out tasks is +46.0 points (95 % interval +41.0 to +51.0 points): the ' +
        'lower end is above the required +0.0 points.',
      'Among the 100 tasks that base passes in at least half of its trials, routed loses 8.0 points (95 % interval ' +
        'of the loss +2.0 to +14.0 points): a significant loss, larger than the 5.0 points allowed.',
      'Of the 100 tasks that passed before, with base, at most 14.0 % are lost as far as the interval can tell: ' +
        'not below the margin of 10.0 %.',
    ]);
    expect(decideGate(evaluation(GAIN, [-0.14, -0.08, -0.02]), SETTINGS).reasons.slice(1, 3)).toEqual([
      'Among the 100 tasks that base passes in at least half of its trials, routed gains 8.0 points (95 % interval ' +
        'of the gain +2.0 to +14.0 points): no significant loss.',
      'Of the 100 tasks that passed before, with base, none are lost as far as the interval can tell: below the ' +
        'margin of 10.0 %.',
    ]);
    const nothing = decideGate(evaluation(GAIN, [0, 0, 0], { tasks: 0 }), SETTINGS);
    expect(nothing.passed).toBe(true);
    expect(nothing.reasons[1]).toContain('nothing that could be lost');
    expect(nothing.reasons.join()).not.toContain('passed before');
  });
});

describe('the gate with an active version', () => {
  const better = evaluation(GAIN, NO_LOSS);

  it.each([
    ['clearly better', [0.01, 0.05, 0.09], NO_LOSS, 300, true],
    ['not proved better', [-0.01, 0.02, 0.05], NO_LOSS, 300, false],
    ['worse', [-0.2, -0.15, -0.1], NO_LOSS, 300, false],
    ['better, but what it passed may be lost', [0.01, 0.05, 0.09], [-0.05, 0.03, 0.11], 300, false],
    ['the same adapter for every task, whatever chance says', [0.01, 0.05, 0.09], NO_LOSS, 0, false],
  ] as const)('%s', (_, minus, loss, differing, passed) => {
    expect(decideGate(against(better, minus, loss, differing), SETTINGS).passed).toBe(passed);
  });

  it.each([
    ['not worse', [-0.01, 0.02, 0.05], 100, true],
    ['not worse, but on too few tasks to lose so much', [-0.01, 0.02, 0.05], 40, false],
    ['exactly as bad as the margin', [-0.025, 0.02, 0.05], 100, false],
    ['worse', [-0.2, -0.15, -0.1], 300, false],
    ['the same adapter for every task', [0, 0, 0], 0, false],
  ] as const)('a set that only lacks an adapter, %s', (_, minus, differing, passed) => {
    const gate = decideGate(against(better, minus, NO_LOSS, differing), SETTINGS, [], ['old']);
    expect(gate.passed).toBe(passed);
    // Where something is new it has to be better.
    expect(decideGate(against(better, minus, NO_LOSS, differing), SETTINGS).passed).toBe(false);
  });

  it('says what a retirement was judged by', () => {
    const { reasons } = decideGate(against(better, [-0.01, 0.02, 0.05], NO_LOSS, 100), SETTINGS, [], ['old']);
    expect(reasons[1]).toContain(
      'it only does without old, and the lower end is above −2.5 points, which is 10.0 % of the 100 tasks that get ' +
        'another adapter: it is not worse than what is served now.',
    );
  });

  it('says in plain words that base is beaten and the active version is not', () => {
    const { reasons, culprit } = decideGate(against(better, [-0.2, -0.15, -0.1]), SETTINGS);
    expect(reasons[1]).toBe(
      'Routed minus the active version 3 is −15.0 points (95 % interval −20.0 to −10.0 points; it passes 75.0 % ' +
        'against 80.0 % routed): it beats base, but it is worse than what is served now, so version 3 stays.',
    );
    expect(culprit).toBe('incumbent');
  });
});

describe('the gate of a later comparison', () => {
  const judged = (gain: Three, loss: Three = NO_LOSS) => ({
    ...{ against: 3, comparison: 3, confidence: 0.99662, loss: interval(loss) },
    ...{ routedMinusBase: interval(GAIN), routedMinusIncumbent: interval(gain) },
  });
  const figures = against(evaluation(GAIN, NO_LOSS), [0.01, 0.05, 0.09]);

  it.each([
    ['proved more strictly', [0.005, 0.05, 0.1], NO_LOSS, true],
    ['not proved any more', [-0.005, 0.05, 0.11], NO_LOSS, false],
    ['a loss that cannot be excluded any more', [0.005, 0.05, 0.1], [-0.04, 0.01, 0.11], false],
  ] as const)('%s', (_, gain, loss, passed) => {
    expect(decideGate({ ...figures, judged: judged(gain, loss) }, SETTINGS).passed).toBe(passed);
  });

  it('finds a significant loss at the full error: less of it must not help the candidate', () => {
    const lost = against(evaluation(GAIN, [0.001, 0.06, 0.12]), [0.01, 0.05, 0.09]);
    expect(decideGate({ ...lost, judged: judged([0.005, 0.05, 0.1]) }, SETTINGS).passed).toBe(false);
  });

  it('says how strictly, and why', () => {
    const { reasons } = decideGate({ ...figures, judged: judged([0.005, 0.05, 0.1]) }, SETTINGS);
    expect(reasons[1]).toContain('(99.662 % interval +0.5 to +10.0 points;');
    expect(reasons).toContain(
      'Judged at 99.662 % as comparison 3 with version 3: each next one is judged more strictly, so that over all of ' +
        'them a rival that nothing beats is replaced with a chance of at most 5 %.',
    );
  });
});

describe('the culprit', () => {
  const NOTHING: Three = [-0.03, 0.001, 0.03];
  const learned = (gain: number) => [{ capabilityId: 'refunds', gain }];

  it.each([
    ['the router: perfect routing would gain much, routed nothing', evaluation(NOTHING, NO_LOSS), 0.6, 'router'],
    ['the router: what base passes is lost', evaluation(GAIN, [0.06, 0.08, 0.09]), 0.6, 'router'],
    [
      'the adapters: no arm gains, and none learned',
      evaluation([-0.04, 0, 0.02], NO_LOSS, { oracle: NOTHING }),
      0.01,
      'adapter',
    ],
    [
      'the environments: they learned what does not help',
      evaluation([-0.04, 0, 0.02], NO_LOSS, { oracle: NOTHING }),
      0.6,
      'environment',
    ],
    [
      'too few tasks: a gain that is not proved',
      evaluation([-0.01, 0.03, 0.07], NO_LOSS, { oracle: [0, 0.03, 0.07] }),
      0.6,
      'power',
    ],
    [
      'too few tasks: the best arms may gain much or nothing',
      evaluation([-0.07, -0.01, 0.05], NO_LOSS, { oracle: [-0.04, 0.02, 0.08] }),
      0.6,
      'power',
    ],
    ['too few tasks: a loss that is not excluded', evaluation(GAIN, [-0.02, 0.05, 0.12]), 0.6, 'power'],
    [
      'too few tasks: ahead of the active version by chance',
      against(evaluation(GAIN, NO_LOSS), [-0.01, 0.02, 0.05]),
      0.6,
      'power',
    ],
    ['the active version', against(evaluation(GAIN, NO_LOSS), [-0.05, -0.01, 0.02]), 0.6, 'incumbent'],
  ] as const)('%s', (_, figures, gain, culprit) => {
    const gate = decideGate(figures, SETTINGS, learned(gain));
    expect(gate).toMatchObject({ passed: false, culprit });
    expect(gate.reasons.at(-1)).toMatch(/^The cause is /);
  });

  it('is an environment where the probes of its training saw the loss', () => {
    const harmed = [...learned(0.6), { capabilityId: 'rack', gain: 0.5, harmed: true as const }];
    const gate = decideGate(evaluation(GAIN, [0.06, 0.08, 0.09]), SETTINGS, harmed);
    expect(gate).toMatchObject({ passed: false, culprit: 'environment' });
    expect(gate.reasons.at(-1)).toMatch(/^The cause is what rack was trained in: the probes of the training saw/);
  });

  /** The plan of few tasks: only a gain of 25 points or more is provable. */
  const few = (figures: Evaluation, more: Partial<EvaluationPlan> = {}): Evaluation => {
    return { ...figures, tasks: 20, plan: samplePlan({ minimumDetectableGain: 0.25, tasks: 20, ...more }) };
  };
  const unclear = evaluation([-0.2, -0.02, 0.16], NO_LOSS, { oracle: [-0.14, 0.03, 0.2] });

  it('is power where the best arms may gain nothing or much, though less than so few tasks can prove', () => {
    const { culprit, reasons } = decideGate(few(unclear), SETTINGS, learned(0.6));
    expect(culprit).toBe('power');
    expect(reasons.at(-1)).toBe(
      'The cause is the size of the evaluation: even with each task at its best arm the gain may be anything from ' +
        'none to +5.0 points and more (−14.0 to +20.0 points). 20 tasks with 2 trials prove gains over base from ' +
        'about +25.0 points on: raise environment.heldOutSeeds.count or evaluation.trials.',
    );
    // Without curves nothing says that the adapters learned nothing.
    expect(decideGate(few(unclear), SETTINGS, []).culprit).toBe('power');
    expect(decideGate(few(unclear), SETTINGS, learned(0.01)).culprit).toBe('adapter');
  });

  it('is power where the best arms do gain, whatever the trainings say', () => {
    const small = evaluation([-0.01, 0.015, 0.02], NO_LOSS, { oracle: [0.001, 0.02, 0.03] });
    const { culprit, reasons } = decideGate(few(small), SETTINGS, learned(0.6));
    expect(culprit).toBe('power');
    expect(reasons.at(-1)).toContain('with each task at its best arm there is a gain (+0.1 to +3.0 points), too small');
  });

  it('measures against the gain that the owner wants, and names the fields that this agent has', () => {
    const aim = { gain: 0.3, leastTrials: 2, mostTrials: 4, reached: false, floor: 0.2 };
    const wanted = few(unclear, { aim, rotation: { block: 1, of: 80, seeds: [{ start: 0, count: 20 }] } });
    expect(decideGate(wanted, SETTINGS, learned(0.6)).culprit).toBe('environment');
    const less = decideGate(few(unclear, { ...wanted.plan, aim: { ...aim, gain: 0.1 } }), SETTINGS, learned(0.6));
    expect(less.culprit).toBe('power');
    expect(less.reasons.at(-1)).toMatch(/on: raise evaluation\.heldOutTasks or evaluation\.maxTrials\.$/);
  });

  it.each([
    ['a gain that is not proved', evaluation([-0.01, 0.03, 0.3], NO_LOSS, { oracle: [0, 0.03, 0.07] })],
    ['a loss that is not excluded', evaluation(GAIN, [-0.02, 0.05, 0.12])],
    ['a lead by chance', against(evaluation(GAIN, NO_LOSS), [-0.01, 0.02, 0.05])],
  ])('power names the provable gain and what to raise: %s', (_, figures) => {
    expect(decideGate(few(figures), SETTINGS, learned(0.6)).reasons.at(-1)).toContain(
      'from about +25.0 points on: raise environment.heldOutSeeds.count or evaluation.trials.',
    );
  });

  it('is the router with what train tasks had not excluded, where the bound of its harm was above the margin', () => {
    const harm = {
      ...{ tasks: 9, given: 0.4, loss: 0.02, bound: 0.214, boundOverall: 0.086 },
      margin: 0.1,
      bought: 20,
    };
    const lost = evaluation(GAIN, [0.06, 0.08, 0.09]);
    const last = (above: boolean) => {
      const choice = { chosen: 'labels', harm: { ...harm, above } } as unknown as RouterChoice;
      const { reasons } = decideGate({ ...lost, router: { ...lost.router, choice } }, SETTINGS, learned(0.6));
      return reasons.at(-1);
    };
    expect(last(true)).toContain(
      'Train tasks could not exclude it: where router labels uses adapters it may lose up to 21.4 points (one-sided ' +
        '95 % bound, 9 tasks), and the margin is 10.0.',
    );
    expect(last(false)).not.toContain('Train tasks');
  });

  it('is not named when the gate is passed', () => {
    expect(decideGate(evaluation(GAIN, NO_LOSS), SETTINGS)).not.toHaveProperty('culprit');
  });

  it('reads from a curve how much was learned', () => {
    expect(rewardGain([0.1, 0.2, 0.5, 0.8, 0.9].map((reward) => ({ reward })))).toBeCloseTo(0.8);
    expect(rewardGain([])).toBe(0);
  });
});
