// tier: unit
import { withExperiments } from '../../../../activities/identify/experiments/apply-experiments';
import { experimentQuestions } from '../../../../activities/identify/experiments/experiment-questions';
import { planExperiment, sidesOf } from '../../../../activities/identify/experiments/plan-pairs';
import { LABEL_CODES } from '../../../../activities/identify/verdicts/label-codes';
import type { Experiment } from '../../../../contracts/artifacts/experiment';
import type { Contrast } from '../../../../contracts/artifacts/identification';

const { NA, PRESENT, LACKING } = LABEL_CODES;
const RULE = { minGap: 0.2, minCoverage: 0.1, runs: 1, quorum: 1, familywiseError: 0.05 };

/** A verdict, as far as experiments look at it. */
const contrast = (
  capabilityId: string,
  verdict: Contrast['verdict'],
  { missed = [], goesWith = null, ...partial }: Partial<Contrast['partial']> & { missed?: Contrast['missed'] } = {},
): Contrast =>
  ({
    ...{ capabilityId, verdict, missed, kept: verdict === 'kept', coverage: 0.3, gap: 0.5, runs: [], runsPassed: 0 },
    ...{ errorRateFailure: 0.8, errorRateSuccess: 0.3, moreFailures: null, intervals: {}, reason: 'as labelled' },
    partial: { effect: null, adjustedPValue: 1, goesWith, moreEpisodes: null, hardlyShown: null, ...partial },
  }) as unknown as Contrast;

const effect = (low: number, high: number) => ({ estimate: (low + high) / 2, low, high });
const SEPARATION = { missed: ['separation' as const] };

interface Options {
  budget?: number;
  /** What the text of each candidate says that it calls. */
  tools?: string[];
  /** The tools that are called. */
  calls?: string[];
}

/** Episodes of 30 tasks: a candidate's own tool is called where it is PRESENT. */
function questions(
  contrasts: Contrast[],
  { budget = 200, tools = contrasts.map((_, c) => `tool_${c}`), calls = tools }: Options = {},
) {
  const codes = contrasts.map(() => Uint8Array.from({ length: 30 }, (_, i) => [PRESENT, LACKING, NA][i % 3]!));
  return experimentQuestions(contrasts, {
    candidates: contrasts.map(({ capabilityId: id }, c) => ({
      ...{ id, name: 'N', summary: 's', description: `It calls ${tools[c]}.` },
    })),
    codes,
    facts: {
      seeds: Array.from({ length: 30 }, (_, i) => i),
      tools: Array.from({ length: 30 }, (_, i) => new Set(i % 3 === 0 ? calls : [])),
    },
    ...{ rule: RULE, budget, seed: 1 },
  });
}

describe('an experiment is asked for', () => {
  test.each<[string, Contrast[], string[]]>([
    ['a kept capability with an effect', [contrast('a', 'kept', { effect: effect(0.3, 0.6), adjustedPValue: 0 })], []],
    ['a rejected gap', [contrast('a', 'rejected', { missed: ['gap'] })], []],
    ['too little coverage', [contrast('a', 'not-enough-data', { missed: ['coverage'] })], []],
    ['one that cannot be trained', [contrast('a', 'not-trainable')], []],
    ['a gap that may be chance', [contrast('a', 'not-enough-data', { missed: ['significance'] })], ['a']],
    [
      'a companion whose effect is surely small',
      [contrast('a', 'rejected', { missed: ['effect'], goesWith: 'b', effect: effect(-0.1, 0.09) })],
      [],
    ],
    [
      'a companion that may have an effect',
      [contrast('a', 'rejected', { missed: ['effect'], goesWith: 'b', effect: effect(-0.1, 0.15) })],
      ['a'],
    ],
    [
      'two that nothing separates',
      [contrast('a', 'kept'), contrast('b', 'not-enough-data', { ...SEPARATION, goesWith: 'a' })],
      ['a', 'b'],
    ],
    [
      'one that goes along with a cause',
      [
        contrast('a', 'kept', { effect: effect(0.3, 0.6), adjustedPValue: 0 }),
        contrast('b', 'not-enough-data', { ...SEPARATION, goesWith: 'a' }),
      ],
      ['b'],
    ],
  ])('only where the labels do not decide: %s', (_, contrasts, asked) => {
    const { questions: found, without } = questions(contrasts);
    expect(found.map(({ capabilityId }) => capabilityId)).toEqual(asked);
    expect(without.size).toBe(0);
  });

  const INSEPARABLE = [contrast('a', 'kept'), contrast('b', 'not-enough-data', { ...SEPARATION, goesWith: 'a' })];

  test('with the steps of the others, and with tasks that lack it or show it', () => {
    const [first] = questions(INSEPARABLE).questions;
    expect(first).toMatchObject({ capabilityId: 'a', tools: ['tool_0'], held: ['tool_1'] });
    expect([first!.lacking.length, first!.shown.length]).toEqual([10, 10]);
    expect(new Set(first!.lacking.map((task) => task % 3))).toEqual(new Set([1]));
  });

  test('with the steps of all that may be causes, each of which may have several tools', () => {
    const cause = contrast('c', 'kept', { effect: effect(0.3, 0.6), adjustedPValue: 0 });
    const harmless = contrast('d', 'rejected', { missed: ['gap'] });
    const tools = ['open and close', 'b', 'print and clip', 'd'];
    const calls = ['open', 'close', 'b', 'print', 'clip', 'd'];
    const found = questions([...INSEPARABLE, cause, harmless], { tools, calls }).questions;
    expect(found).toMatchObject([
      { capabilityId: 'a', tools: ['close', 'open'], held: ['b', 'clip', 'print'] },
      { capabilityId: 'b', tools: ['b'], held: ['clip', 'close', 'open', 'print'] },
    ]);
  });

  test('or it is said why not', () => {
    expect(Object.fromEntries(questions(INSEPARABLE, { tools: ['same', 'same'] }).without)).toEqual({
      a: 'its step, same, is also that of b',
      b: 'its step, same, is also that of a',
    });
    const few = questions(INSEPARABLE, { budget: 60 });
    expect(few.questions).toHaveLength(1);
    expect([...few.without.values()]).toEqual(['identify.experimentRollouts (60) is enough for 1 others']);
  });
});

describe('the step', () => {
  const question = { capabilityId: 'a', tools: ['check'], held: ['look'], lacking: [...Array(12).keys()], shown: [] };
  const solved = (name: string) => new Map(question.lacking.map((task) => [task, [{ name, arguments: {} }]]));

  test('is forced where solutions have it, beside the other steps on both sides', () => {
    const plan = planExperiment(question, solved('check'));
    expect(plan).toMatchObject({ step: 'forced', tasks: question.lacking });
    expect(sidesOf(plan as never)).toEqual({
      withStep: { forced: ['check', 'look'], forbidden: [] },
      without: { forced: ['look'], forbidden: [] },
    });
  });

  test('is forbidden where they have none and the agent makes it', () => {
    const plan = planExperiment({ ...question, shown: question.lacking }, solved('look'));
    expect(plan).toMatchObject({ step: 'forbidden' });
    expect(sidesOf(plan as never)).toEqual({
      withStep: { forced: ['look'], forbidden: [] },
      without: { forced: ['look'], forbidden: ['check'] },
    });
  });

  test('cannot be tried otherwise', () => {
    expect(planExperiment(question, solved('look'))).toEqual({
      none: '0 of the tasks that lack it have an accepted solution that calls check, and 0 tasks show it; an experiment needs 10',
    });
  });
});

describe('a verdict', () => {
  const experiment = (finding: Experiment['finding']): Experiment => ({
    ...{ step: 'forced', tools: ['check'], held: [], tasks: 20, pairs: 20, intervened: 20, passedWith: 18 },
    ...{ passedWithout: 2, better: 16, worse: 0, finding },
  });
  const after = (contrasts: Contrast[], findings: Record<string, Experiment['finding']>, none = new Map()) =>
    withExperiments(
      contrasts,
      {
        experiments: Object.entries(findings).map(([capabilityId, finding]) => ({
          capabilityId,
          result: experiment(finding),
        })),
      },
      none,
      RULE,
    );
  const pair = () => [contrast('a', 'kept'), contrast('b', 'not-enough-data', { ...SEPARATION, goesWith: 'a' })];

  test('changes sides where the one that stood for both is the companion', () => {
    const [a, b] = after(pair(), { a: 'no-effect', b: 'effect' });
    expect([a!.verdict, a!.missed, a!.kept]).toEqual(['rejected', ['effect'], false]);
    expect([b!.verdict, b!.missed, b!.kept]).toEqual(['kept', [], true]);
    expect(b!.reason).toBe(
      'Kept: decided by an experiment. With check put in where the solution calls it, 18 of 20 rollouts succeed, and ' +
        '2 of 20 without.',
    );
  });

  test('keeps both where both have an effect', () => {
    expect(after(pair(), { a: 'effect', b: 'effect' }).map(({ kept }) => kept)).toEqual([true, true]);
  });

  test('stays where none of them has one, or nothing is decided', () => {
    expect(after(pair(), { a: 'no-effect', b: 'no-effect' }).map(({ verdict }) => verdict)).toEqual([
      'kept',
      'not-enough-data',
    ]);
    expect(after(pair(), { a: 'undecided', b: 'no-effect' }).map(({ verdict }) => verdict)).toEqual([
      'kept',
      'rejected',
    ]);
    const [, b] = after(pair(), { b: 'undecided' });
    expect(b!.verdict).toBe('not-enough-data');
    expect(b!.reason).toMatch(/An experiment does not decide it\. With check put in/);
  });

  test('of a candidate alone follows its experiment', () => {
    const alone = () => [contrast('a', 'not-enough-data', { missed: ['significance'] })];
    expect(after(alone(), { a: 'effect' })[0]).toMatchObject({ verdict: 'kept', kept: true });
    expect(after(alone(), { a: 'no-effect' })[0]).toMatchObject({ verdict: 'rejected', missed: ['effect'] });
  });

  test('tells why there is no experiment, and no other changes', () => {
    const contrasts = pair();
    const [a, b] = after(contrasts, {}, new Map([['b', 'no tool tells them apart']]));
    expect(a).toBe(contrasts[0]);
    expect(b!.reason).toMatch(/ No experiment: no tool tells them apart\.$/);
    expect(b!.partial.noExperiment).toBe('no tool tells them apart');
  });
});
