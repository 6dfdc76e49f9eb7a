import { pluralise } from '../../contracts/pluralise';
import type { Evaluation, Gate, Interval } from '../../contracts/artifacts/evaluation';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { percentText, pointsText } from '../../contracts/share-text';
import { pointsRangeWithUnit, pointsWithUnit } from '../html/format';
import { type Diagnosis, diagnose, type Learned } from './diagnosis';

/** The conditions of promotion in agent.yaml. */
export type GateSettings = Pick<AgentSpec['gate'], 'minGain' | 'maxRegression' | 'maxSureLoss' | 'lossMargin'>;

/** A condition, with a sentence about its result. */
interface Condition {
  passed: boolean;
  reason: string;
}

/**
 * Decides whether the candidate may be promoted. All conditions use held-out tasks:
 *
 * - the gain: the lower end of the paired interval of routed minus base is above `minGain`;
 * - the active version, if it is an arm: the lower end of routed minus the active version is above zero;
 * - the loss among tasks that base passed: it is not significant (its interval includes zero), or not larger than
 *   `maxRegression`;
 * - the sure loss: of the tasks that base passes in all trials, the candidate fails at most `maxSureLoss` in all
 *   trials, beyond what luck explains;
 * - non-inferiority: the upper end of the loss among tasks that passed before is below `lossMargin`. 'Before' means
 *   with the active version or, without one, with base.
 *
 * A retirement is the active version without the adapters that a night named. It contains nothing new that could be
 * better, so for the second condition it only must not be worse. It must lose less than `lossMargin` of the tasks that
 * get another adapter. The lower end of routed minus the active version decides this.
 *
 * Gains and non-inferiority are judged at the confidence of this comparison. The significance of a loss is judged at
 * the unadjusted confidence, because a stricter test would let more losses pass.
 *
 * @param learned the results of the adapters' trainings, used for the cause if the gate is not passed.
 * @param retires capabilities whose adapters a retirement removes; empty for any other candidate.
 */
export function decideGate(
  evaluation: Evaluation,
  settings: GateSettings,
  learned: readonly Learned[] = [],
  retires: readonly string[] = [],
): Gate {
  const gained = gainCondition(evaluation, settings.minGain);
  const ahead = incumbentCondition(evaluation, retires.length > 0 ? { retires, margin: settings.lossMargin } : null);
  const kept = lossCondition(evaluation, settings.maxRegression);
  const sure = sureLossCondition(evaluation, settings.maxSureLoss);
  const notInferior = nonInferiority(evaluation, settings.lossMargin);
  const conditions = [
    gained,
    ...(ahead ? [ahead] : []),
    kept,
    ...(sure ? [sure] : []),
    ...(notInferior ? [notInferior] : []),
  ];
  const passed = conditions.every((condition) => condition.passed);
  const failed = {
    gain: !gained.passed,
    incumbent: ahead?.passed === false,
    lost: !kept.passed,
    lostForGood: sure?.passed === false,
  };
  const diagnosis: Diagnosis | null = passed ? null : diagnose(evaluation, failed, learned);
  return {
    passed,
    reasons: [
      ...conditions.map(({ reason }) => reason),
      judgedSentence(evaluation),
      ...planSentences(evaluation),
      ...(diagnosis ? [diagnosis.sentence] : []),
    ],
    ...(diagnosis && { culprit: diagnosis.culprit }),
  };
}

/** Enough digits to distinguish 99.97 % from 100 %. */
const percentOf = (confidence: number) => `${(confidence * 100).toFixed(digitsOf(confidence)).replace(/\.?0+$/, '')} %`;
const digitsOf = (confidence: number) => Math.max(2, Math.ceil(-Math.log10(Math.max(1e-12, 1 - confidence))));
const level = ({ confidence }: Evaluation) => percentOf(confidence);
/** The confidence level that the gate requires for its figures. */
const judgedLevel = ({ judged }: Evaluation) => percentOf(judged.confidence);

function gainCondition(evaluation: Evaluation, minGain: number): Condition {
  const { tasks } = evaluation;
  const { routedMinusBase: gain } = evaluation.judged;
  const passed = gain.low > minGain;
  return {
    passed,
    reason:
      `Routed minus base on ${tasks} held-out tasks is ${pointsWithUnit(gain.estimate)} ` +
      `(${judgedLevel(evaluation)} interval ${pointsRangeWithUnit(gain)}): ` +
      `the lower end is ${passed ? 'above' : 'not above'} the required ${pointsWithUnit(minGain)}.`,
  };
}

/** The capabilities that a retirement removes, and its largest allowed loss on tasks that get another adapter. */
interface Retirement {
  retires: readonly string[];
  margin: number;
}

function incumbentCondition(evaluation: Evaluation, retirement: Retirement | null): Condition | null {
  const { incumbent, routed } = evaluation;
  const { routedMinusBase, routedMinusIncumbent: routedMinus } = evaluation.judged;
  if (incumbent === undefined || routedMinus === null) return null;
  const { version, arm, differing } = incumbent;
  if (differing === 0)
    return {
      passed: false,
      reason:
        `Every held-out task gets the same adapter as in the active version ${version}: ` +
        'there is nothing new to promote.',
    };
  const passed = routedMinus.low > 0;
  const rates = `${percentText(arm.passRate.estimate)} against ${percentText(routed.passRate.estimate)} routed`;
  const figures =
    `Routed minus the active version ${version} is ${pointsWithUnit(routedMinus.estimate)} ` +
    `(${judgedLevel(evaluation)} interval ${pointsRangeWithUnit(routedMinus)}; it passes ${rates}): `;
  if (passed) return { passed, reason: `${figures}the lower end is above zero.` };
  if (retirement !== null) return retirementCondition(evaluation, routedMinus, { ...retirement, figures, differing });
  const proved = routedMinus.high < 0 ? 'worse than' : 'not proved better than';
  const base = routedMinusBase.low > 0 ? 'it beats base, but it is' : 'it is';
  return { passed, reason: `${figures}${base} ${proved} what is served now, so version ${version} stays.` };
}

/** Whether the version without these adapters is not worse. */
function retirementCondition(
  { tasks }: Evaluation,
  routedMinus: Interval,
  { retires, margin, figures, differing }: Retirement & { figures: string; differing: number },
): Condition {
  const most = (margin * differing) / tasks;
  const passed = routedMinus.low > -most;
  return {
    passed,
    reason:
      `${figures}it only does without ${retires.join(', ')}, and the lower end is ${passed ? 'above' : 'not above'} ` +
      `${pointsWithUnit(-most)}, which is ${percentText(margin)} of the ${differing} tasks that get another adapter: it is ` +
      `${passed ? 'not worse than what is served now' : 'not proved that nothing is lost'}.`,
  };
}

function lossCondition(evaluation: Evaluation, maxRegression: number): Condition {
  const { loss, significant, tasks } = evaluation.regression;
  const tooMuch = significant && loss.estimate > maxRegression;
  if (tasks === 0)
    return {
      passed: true,
      reason: 'Base passed no task in at least half of its trials, so there is nothing that could be lost.',
    };
  return {
    passed: !tooMuch,
    reason:
      `Among the ${tasks} tasks that base passes in at least half of its trials, ` +
      `routed ${describeLoss(loss, level(evaluation))}: ` +
      lossVerdict(significant, tooMuch, maxRegression),
  };
}

/** The tasks that are lost for good, which gains on other tasks cannot outweigh. */
function sureLossCondition({ sureLoss, confidence }: Evaluation, most: number): Condition | null {
  if (sureLoss === null) return null;
  const { tasks, lost, luck, chance } = sureLoss;
  const share = lost / tasks;
  const tooMany = chance <= (1 - confidence) / 2 && share - luck > most;
  return {
    passed: !tooMany,
    reason:
      `Of the ${tasks} tasks that base passes in all trials, routed passes ${lost} in none ` +
      `(${percentText(share)}; luck explains ${percentText(luck)}): ` +
      `${tooMany ? 'more than' : 'not more than'} the ${percentText(most)} allowed beyond luck.`,
  };
}

/** The loss, compared with the served version, among tasks that passed before. */
function nonInferiority(evaluation: Evaluation, margin: number): Condition | null {
  const { incumbent, judged } = evaluation;
  const { tasks } = incumbent?.regression ?? evaluation.regression;
  const { loss } = judged;
  if (loss === null) return null;
  const passed = loss.high < margin;
  const before = incumbent === undefined ? 'base' : `version ${incumbent.version}`;
  const most = loss.high <= 0 ? 'none' : `at most ${percentText(loss.high)}`;
  return {
    passed,
    reason:
      `Of the ${tasks} tasks that passed before, with ${before}, ${most} ` +
      `are lost as far as the interval can tell: ${passed ? 'below' : 'not below'} the margin of ` +
      `${percentText(margin)}.`,
  };
}

/** The confidence of the judgement, and the reason for it. */
function judgedSentence({ judged, confidence }: Evaluation): string {
  const rival = judged.against === null ? 'the base model alone' : `version ${judged.against}`;
  return (
    `Judged at ${percentOf(judged.confidence)} as comparison ${judged.comparison} with ${rival}: each next one is ` +
    'judged more strictly, so that over all of them a rival that nothing beats is replaced with a chance of at ' +
    `most ${percentOf(1 - confidence)}.`
  );
}

/** The plan's statement from before the held-out tasks were played. */
function planSentences(evaluation: Evaluation): string[] {
  const { plan, incumbent } = evaluation;
  const { minimumDetectableGain: least, power, tasks, trials, basePassRate, failed, noIncumbent, canary } = plan;
  const level = percentOf(plan.judging.confidence);
  const size = `${pluralise(tasks, 'task')} with ${pluralise(trials, 'trial')} each`;
  return [
    ...(incumbent === undefined && noIncumbent !== null ? [`When the evaluation began: ${noIncumbent}`] : []),
    ...(canary === null
      ? []
      : [
          `A canary of version ${canary.version} had ${percentText(canary.share, 0)} of the conversations when the ` +
            'evaluation began. It is no arm here; a promotion waits until it has ended.',
        ]),
    `Said before: ${size} prove a gain of ${pointsText(least)} over base in ${percentText(power, 0)} of ` +
      `evaluations, at ${level} confidence and the ${percentText(basePassRate)} that base passed of the train tasks` +
      `${failed === undefined ? '' : `, if ${percentText(failed)} of the episodes fail as they did there`}.`,
    ...aimSentences(plan),
    ...rotationSentences(plan),
  ];
}

/** Why this number of trials was played, if the owner named a gain. */
function aimSentences({ aim, trials, minimumDetectableGain: least }: Evaluation['plan']): string[] {
  if (aim === undefined) return [];
  const wanted = `${pointsText(aim.gain)} wanted (evaluation.detectableGain)`;
  if (aim.reached)
    return [`At least ${pluralise(trials, 'trial')} of each task prove the ${wanted}, from ${aim.leastTrials} on.`];
  return [
    `Not reached: the ${wanted}. ${trials} trials, the most that may be played, prove ${(least * 100).toFixed(1)}; ` +
      `any number of trials on these tasks proves ${pointsText(aim.floor)} at best, and only more held-out tasks ` +
      'prove less.',
  ];
}

/** Which held-out tasks were played, if they rotate. */
function rotationSentences({ rotation, tasks }: Evaluation['plan']): string[] {
  if (rotation === undefined) return [];
  const ranges = rotation.seeds.map(({ start, count }) => `${start} to ${start + count - 1}`).join(' and ');
  return [`Judged on block ${rotation.block}: ${tasks} of the ${rotation.of} held-out tasks, seeds ${ranges}.`];
}

/** A loss with its interval. A negative loss is written as a gain, with the gain's interval. */
function describeLoss({ estimate, low, high }: Interval, confidence: string): string {
  const size = pointsText(Math.abs(estimate));
  if (estimate < 0)
    return `gains ${size} (${confidence} interval of the gain ${pointsRangeWithUnit({ low: -high, high: -low })})`;
  const words = estimate > 0 ? `loses ${size}` : 'loses nothing';
  return `${words} (${confidence} interval of the loss ${pointsRangeWithUnit({ low, high })})`;
}

function lossVerdict(significant: boolean, tooMuch: boolean, maxRegression: number): string {
  const allowed = pointsText(maxRegression);
  if (!significant) return 'no significant loss.';
  return tooMuch
    ? `a significant loss, larger than the ${allowed} allowed.`
    : `a significant loss, but within the ${allowed} allowed.`;
}
