import type { Figure } from '../../contracts/artifacts/environment-check';
import type { SecondReading } from '../../contracts/artifacts/second-reading';
import { cohenKappa } from '../statistics/cohen-kappa';
import { likelihoodRatio } from '../statistics/likelihood-ratio';
import { mean } from '../statistics/mean';
import { chanceOfHigherMean } from '../statistics/permutation-test';

/** A rollout with the reader's label. */
export type ReadRollout = SecondReading['read'][number];

/** Shares of labels that may be wrong, in [0, 1]. */
export interface LabelNoise {
  /** LACKING where the agent showed the capability, or was paid without it. */
  lacking: number;
  /** NA where the capability is called for. */
  notCalledFor: number;
}

/** The verdict on the labels so far. */
export interface ReadingVerdict {
  /** What is wrong with the environment, as sentences. Empty: nothing is shown to be wrong. */
  problems: string[];
  /** More labels may change the verdict. */
  isOpen: boolean;
  kappa: number | null;
  figures: Figure[];
}

/** Highest probability with which each test calls a right environment wrong; together 5 %. */
const LEVELS = { crossing: 0.01, exceptions: 0.01, paidLacking: 0.025, notCalledFor: 0.005 } as const;
/** A wrong environment contradicts the labels in this share of cases beyond their noise, or more. */
const BEYOND_NOISE = 0.25;
/** Below this likelihood ratio, a wrong environment of that kind is refuted. */
const REFUTED = 0.1;
/** So many paid rollouts, none of which lacks the capability, are enough. */
const ENOUGH_PAID = 8;

const two = (value: number): string => value.toFixed(2);

/**
 * Judges an environment by labels of its rollouts. It is wrong if one of four tests says so:
 *
 * 1. LACKING earns more than PRESENT: an exact permutation test, since rewards are few and of any distribution. Its
 *    level is divided among the `looks`.
 * 2. The same among the tasks that the environment says do not call for the capability, the described exceptions.
 * 3. More paid rollouts lack the capability than labels may be wrong.
 * 4. More reference solutions of tasks that the environment says call for the capability gave no occasion for it.
 *
 * Tests 3 and 4 are likelihood ratios, which may be looked at after every label. PRESENT that is not paid is a figure
 * and no test: a right environment has other demands as well, such as an exact answer.
 */
export function judgeReading(read: readonly ReadRollout[], noise: LabelNoise, looks: number): ReadingVerdict {
  const labelled = read.filter(({ label }) => label === 'PRESENT' || label === 'LACKING');
  const crossed = crossing(labelled, LEVELS.crossing / looks);
  const exceptions = crossing(
    labelled.filter(({ callsForIt }) => callsForIt === false),
    LEVELS.exceptions / looks,
  );
  const paid = labelled.filter((one) => one.paid);
  const lacking = paid.filter(({ label }) => label === 'LACKING');
  const paidLacking = beyondNoise(lacking.length, paid.length, noise.lacking, LEVELS.paidLacking, ENOUGH_PAID);
  const references = read.filter(
    ({ source, callsForIt, label }) => source === 'reference' && callsForIt === true && label !== null,
  );
  const without = references.filter(({ label }) => label === 'NA');
  const notCalledFor = beyondNoise(without.length, references.length, noise.notCalledFor, LEVELS.notCalledFor);
  const problems = [
    ...(crossed.isWrong ? [`The reward pays for the opposite of the capability: ${crossed.numbers}.`] : []),
    ...(exceptions.isWrong
      ? [
          'Among the tasks that the environment says do not call for the capability, the reward pays for the ' +
            `opposite: ${exceptions.numbers}.`,
        ]
      : []),
    ...(paidLacking.isWrong
      ? [
          `${lacking.length} of ${paid.length} rollouts that are paid and have an occasion for the capability lack it: ` +
            'the reward can be had without it, or for the opposite.',
        ]
      : []),
    ...(notCalledFor.isWrong
      ? [
          `In ${without.length} of ${references.length} tasks that the environment says call for the capability, its ` +
            'reference solution had no occasion for it: the environment asks for something else, or where the ' +
            'description excepts it.',
        ]
      : []),
  ];
  const ofBase = labelled.filter(({ source, label }) => source === 'base' && label === 'PRESENT');
  const kappa = cohenKappa(labelled.map(({ label, paid: isPaid }) => [label === 'PRESENT', isPaid]));
  return {
    problems,
    isOpen: problems.length === 0 && (crossed.isOpen || exceptions.isOpen || paidLacking.isOpen || notCalledFor.isOpen),
    kappa,
    figures: [
      { name: 'rollouts read', value: read.length },
      ...crossed.figures,
      ...(kappa === null ? [] : [{ name: 'kappa of label and reward', value: kappa }]),
      { name: 'paid rollouts with an occasion', value: paid.length },
      { name: 'of these labelled LACKING', value: lacking.length },
      {
        name: 'likelihood ratio that the reward can be had without it',
        value: paidLacking.ratio,
        atMost: 1 / LEVELS.paidLacking,
      },
      { name: 'reference solutions of tasks that should call for it', value: references.length },
      { name: 'of these without an occasion', value: without.length },
      {
        name: 'likelihood ratio that they ask for something else',
        value: notCalledFor.ratio,
        atMost: 1 / LEVELS.notCalledFor,
      },
      { name: 'rollouts of the base model labelled PRESENT', value: ofBase.length },
      { name: 'of these not paid', value: ofBase.filter((one) => !one.paid).length },
    ],
  };
}

function crossing(labelled: readonly ReadRollout[], level: number) {
  const rewardsOf = (wanted: ReadRollout['label']): number[] =>
    labelled.filter(({ label }) => label === wanted).map(({ reward }) => reward);
  const [present, lacking] = [rewardsOf('PRESENT'), rewardsOf('LACKING')];
  if (present.length === 0 || lacking.length === 0)
    return { isWrong: false, isOpen: false, numbers: '', figures: [] satisfies Figure[] };
  const [ofPresent, ofLacking] = [mean(present), mean(lacking)];
  const isCrossed = ofLacking > ofPresent;
  const isWrong = isCrossed && chanceOfHigherMean(lacking, present) <= level;
  return {
    isWrong,
    isOpen: isCrossed && !isWrong,
    numbers:
      `rollouts labelled LACKING earn ${two(ofLacking)} on average (${lacking.length}), those labelled PRESENT ` +
      `${two(ofPresent)} (${present.length})`,
    figures: [
      { name: 'mean reward labelled PRESENT', value: ofPresent },
      { name: 'mean reward labelled LACKING', value: ofLacking },
    ] satisfies Figure[],
  };
}

/**
 * Tests whether events are more frequent than noise.
 * @param enough so many trials without any event are enough. Default 0.
 */
function beyondNoise(events: number, trials: number, noise: number, level: number, enough = 0) {
  const ratio = likelihoodRatio({ events, trials }, { null: noise, alternative: noise + BEYOND_NOISE });
  const isWrong = ratio >= 1 / level;
  const isRefuted = ratio <= REFUTED || (events === 0 && trials >= enough);
  return { ratio, isWrong, isOpen: !isWrong && !isRefuted };
}
