import type { Interval } from '../../../contracts/artifacts/evaluation';
import {
  type ClusteredShare,
  clusteredVariance,
  differenceInterval,
  moderatedVariance,
} from '../../statistics/intervals';
import { studentTail } from '../../statistics/student';
import { LABEL_CODES } from '../verdicts/label-codes';
import { successChance } from './causes-of-failure';
import type { LabelledEpisodes } from './labelled-episodes';
import { fitLackModel } from './lack-model';

/**
 * The groups can be compared if, after weighting, no other capability is lacking more often in one of them by more than
 * this share.
 */
const LARGEST_IMBALANCE = 0.25;
/** Fewest tasks of each group, by their weights (Kish). */
const FEWEST_TASKS = 2;

/** What the lack of one capability does to the outcome while the other labels stay the same. */
export interface PartialEffect {
  /**
   * P(failure | LACKING) - P(failure | PRESENT), standardised over the other labels; null if it cannot be estimated.
   */
  effect: Interval | null;
  /** One-sided p-value of "no effect"; 1 without an estimate. */
  pValue: number;
  /** Index of the candidate that is lacking in the same episodes, so that nothing tells the two apart; else null. */
  inseparableFrom: number | null;
}

const NO_EFFECT: PartialEffect = { effect: null, pValue: 1, inseparableFrom: null };

/**
 * Partial effect of one candidate.
 *
 * Episodes that lack it are compared with episodes that show it. Both groups are weighted towards each other by the
 * overlap weights of Li, Morgan and Zaslavsky (2018, JASA 113:390-400), with the probability of the lack given all
 * other labels. After that, both lack each other capability about equally often. The joint model of all lacks
 * (`CausesOfFailure`) corrects what is left, such as two lacks in one episode; it is added as in augmented weighting
 * (Robins, Rotnitzky and Zhao 1994, JASA 89:846-866). Tasks are the sampled units.
 */
export function partialEffect(episodes: LabelledEpisodes, candidate: number): PartialEffect {
  const { labels, lacks, failed, outcomes, causes } = episodes;
  const { rows, lacking, columns, width, probability, solve, overlap } = overlapWeights(labels, candidate);
  const missing = sum(lacking);
  if (missing === 0 || missing === rows.length) return NO_EFFECT;
  const total = sum(overlap);

  const group = (isLacking: boolean) => {
    const weights = probability.map((p, r) => ((lacking[r] === 1) === isLacking ? (isLacking ? 1 - p : p) : 0));
    const weight = sum(weights);
    const expected = Float64Array.from(
      rows,
      (i) => 1 - successChance(causes, lacks, i, candidate) * (isLacking ? 1 - causes.fails[candidate]! : 1),
    );
    const residuals = expected.map((risk, r) => failed[rows[r]!]! - risk);
    const meanResidual = dot(weights, residuals) / weight;
    const meanExpected = dot(overlap, expected) / total;
    // The derivative of the estimate by the weights of the lack model, for the part of its error.
    const slope = new Float64Array(width);
    const parts = weights.map((w, r) => {
      const residual = (residuals[r]! - meanResidual) / weight;
      const shift = (overlap[r]! * (expected[r]! - meanExpected)) / total;
      const p = probability[r]!;
      const change = (w === 0 ? 0 : isLacking ? -overlap[r]! : overlap[r]!) * residual + (1 - 2 * p) * shift;
      for (const j of columns[r]!) slope[j]! += change;
      return w * residual + shift;
    });
    const correction = solve(slope);
    const influence = new Float64Array(outcomes.tasks);
    const sizes = new Float64Array(outcomes.tasks);
    rows.forEach((i, r) => {
      const score = columns[r]!.reduce((at, j) => at + correction[j]!, 0);
      influence[outcomes.task[i]!]! += parts[r]! + (lacking[r]! - probability[r]!) * score;
      sizes[outcomes.task[i]!]! += weights[r]!;
    });
    const kish = weight ** 2 / dot(sizes, sizes);
    const share: ClusteredShare = {
      estimate: Math.min(1, Math.max(0, meanExpected + meanResidual)),
      influence,
      size: weight ** 2 / dot(weights, weights),
      clusters: kish,
      kish,
    };
    return { share, weights, weight };
  };
  const withLack = group(true);
  const without = group(false);
  const inseparableFrom = mostUnequal(episodes, rows, candidate, [withLack, without]);
  if (inseparableFrom !== null) return { ...NO_EFFECT, inseparableFrom };
  if (Math.min(withLack.share.kish, without.share.kish) < FEWEST_TASKS) return NO_EFFECT;
  return {
    effect: differenceInterval(withLack.share, without.share),
    pValue: noEffectPValue(withLack.share, without.share),
    inseparableFrom: null,
  };
}

/**
 * The episodes that call for a candidate (`rows`), which of them lack it, and the model of that lack. The effect is
 * standardised over these episodes with the weights `overlap`, one for each row, each at most 1/4.
 */
export function overlapWeights(labels: readonly Uint8Array[], candidate: number) {
  const own = labels[candidate]!;
  const rows = Array.from(own.keys()).filter((i) => own[i]! >= LABEL_CODES.PRESENT);
  const lacking = Uint8Array.from(rows, (i) => (own[i] === LABEL_CODES.LACKING ? 1 : 0));
  const { columns, width } = otherLabels(labels, rows, candidate);
  const { probability, solve } = fitLackModel(columns, lacking, width);
  return { rows, lacking, columns, width, probability, solve, overlap: probability.map((p) => p * (1 - p)) };
}

/**
 * The columns of the lack model that are 1 in each row. They are the bias, and "called for" and "lacking" of each other
 * candidate.
 */
function otherLabels(labels: readonly Uint8Array[], rows: readonly number[], candidate: number) {
  let width = 1;
  const columnsOf = labels.map((codes, c) => {
    if (c === candidate) return null;
    const varies = (is: (code: number) => boolean) => {
      const count = rows.reduce((n, i) => n + (is(codes[i]!) ? 1 : 0), 0);
      return count > 0 && count < rows.length;
    };
    return {
      calledFor: varies((code) => code >= LABEL_CODES.PRESENT) ? width++ : null,
      lacking: varies((code) => code === LABEL_CODES.LACKING) ? width++ : null,
    };
  });
  const columns = rows.map((i) => {
    const ones = [0];
    columnsOf.forEach((of, c) => {
      const code = labels[c]![i]!;
      if (of === null || code < LABEL_CODES.PRESENT) return;
      if (of.calledFor !== null) ones.push(of.calledFor);
      if (of.lacking !== null && code === LABEL_CODES.LACKING) ones.push(of.lacking);
    });
    return Uint16Array.from(ones);
  });
  return { columns, width };
}

/** The other candidate that one weighted group lacks much more often than the other group; null if there is none. */
function mostUnequal(
  { lacks }: LabelledEpisodes,
  rows: readonly number[],
  candidate: number,
  groups: readonly [{ weights: Float64Array; weight: number }, { weights: Float64Array; weight: number }],
): number | null {
  let largest = LARGEST_IMBALANCE;
  let found: number | null = null;
  lacks.forEach((lack, c) => {
    if (c === candidate) return;
    const [a, b] = groups.map(
      ({ weights, weight }) => rows.reduce((at, i, r) => at + lack[i]! * weights[r]!, 0) / weight,
    );
    const imbalance = Math.abs(a! - b!);
    if (imbalance > largest) [largest, found] = [imbalance, c];
  });
  return found;
}

/** One-sided test of equal risks. The variance between tasks is moderated by the one at the common risk. */
function noEffectPValue(a: ClusteredShare, b: ClusteredShare): number {
  const [p, q] = [a.estimate!, b.estimate!];
  const common = (p * a.size + q * b.size) / (a.size + b.size);
  if (common === 0 || common === 1) return 1;
  const clusters = Math.min(a.clusters, b.clusters);
  const { variance, df } = moderatedVariance(
    clusteredVariance(
      a.influence.map((value, t) => value - b.influence[t]!),
      clusters,
    ),
    common * (1 - common) * (1 / a.size + 1 / b.size),
    clusters,
  );
  return studentTail((p - q) / Math.sqrt(variance), df);
}

const sum = (values: Float64Array | Uint8Array): number => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};
const dot = (a: Float64Array, b: Float64Array): number => a.reduce((at, value, i) => at + value * b[i]!, 0);
