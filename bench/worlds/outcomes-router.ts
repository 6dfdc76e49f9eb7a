/**
 * A router that learns from outcomes: the probability that each arm passes a task, by a logistic regression over the
 * words of its opening. Few rollouts are bought, and only where other routers disagree. So where an arm was not played,
 * the labels stand in: what the arm did to tasks with the same needs counts as half a trial.
 */
import { fitLogistic, type Observation } from '../../activities/evaluate/choose-router/logistic-regression';
import type { RoutingTask } from '../../activities/evaluate/choose-router/routing-task';
import { mean } from '../../activities/statistics/mean';
import type { LinearModel } from '../../contracts/artifacts/router';
import { MIXED, NONE_LABEL } from '../../contracts/names';
import { linearProbability } from '../../contracts/routing/need-reader';
import { fitVocabulary, openingVectors, type SparseVector } from '../../contracts/routing/opening-features';

/** Passes (1) and failures (0) of each arm on a train task. */
export type ArmOutcomes = (seed: number, arm: string) => readonly number[];

/** How the outcomes are learned from. */
export interface OutcomesSettings {
  ridge: number;
  /** Trials that the labels stand for where an arm was not played. */
  priorTrials: number;
  /** Standard errors, in log odds, by which an arm has to be above base. */
  doubt: number;
}

/**
 * The ridge that the regressions of labels have in the worlds, and the rest as it did best on the held-out tasks of one
 * world, venue-desk.
 */
export const SETTINGS: OutcomesSettings = { ridge: 0.1, priorTrials: 0.5, doubt: 0.3 };

/** Trials of base that the mean of a group is shrunk towards. */
const SHRINKAGE = 4;

interface ArmModel {
  arm: string;
  model: LinearModel;
  /** Variance of each weight, by the diagonal of the Hessian; the last is that of the bias. */
  variances: Float64Array;
}

/** Chooses an arm by an opening. */
export async function outcomesRouter(
  tasks: readonly RoutingTask[],
  arms: readonly string[],
  outcomesOf: ArmOutcomes,
  settings: OutcomesSettings,
): Promise<(opening: string) => string> {
  const vocabulary = fitVocabulary(tasks.map(({ opening }) => opening));
  const vectorOf = openingVectors(vocabulary);
  const width = vocabulary.terms.length;
  const vectors = tasks.map(({ opening }) => vectorOf(opening));
  const models: ArmModel[] = [];
  for (const arm of [NONE_LABEL, ...arms]) {
    const shares = arm === NONE_LABEL ? null : sharesByNeeds(tasks, arm, outcomesOf);
    const observations = tasks.flatMap(({ seed }, place): Observation[] => {
      const passes = outcomesOf(seed, arm);
      const features = vectors[place]!;
      if (passes.length > 0) return [{ features, share: mean(passes), trials: passes.length }];
      return shares && settings.priorTrials > 0
        ? [{ features, share: shares[place]!, trials: settings.priorTrials }]
        : [];
    });
    const model = await fitLogistic(observations, width, settings.ridge);
    models.push({ arm, model, variances: variancesOf(model, observations, width, settings.ridge) });
  }
  const [base, ...others] = models as [ArmModel, ...ArmModel[]];
  return (opening) => {
    const vector = vectorOf(opening);
    const least = linearProbability(base.model, vector);
    let [best, highest] = [NONE_LABEL, 0];
    for (const { arm, model, variances } of others) {
      const p = linearProbability(model, vector);
      const lower = sigmoid(Math.log(p / (1 - p)) - settings.doubt * Math.sqrt(spreadOf(vector, variances)));
      if (lower > least && p > highest) [best, highest] = [arm, p];
    }
    return best;
  };
}

/** Pass rate of an arm on each task, by what it did to played tasks with the same needs. */
function sharesByNeeds(tasks: readonly RoutingTask[], arm: string, outcomesOf: ArmOutcomes): number[] {
  const groupOf = ({ needs }: RoutingTask) =>
    arm === MIXED
      ? Math.min(2, needs.length)
      : needs.includes(arm)
        ? needs.length > 1
          ? 'with others'
          : 'alone'
        : 'other';
  const groups = tasks.map(groupOf);
  const baseRates = tasks.map(({ basePasses }) => mean(basePasses));
  const gainOf = (group: string | number) => {
    const gains = tasks.flatMap(({ seed }, place) =>
      groups[place] === group ? outcomesOf(seed, arm).map((passed) => passed - baseRates[place]!) : [],
    );
    return gains.reduce((sum, gain) => sum + gain, 0) / (gains.length + SHRINKAGE);
  };
  const calls = (group: string | number) => group !== 'other' && group !== 0;
  const meanOf = (group: string | number) => mean(baseRates.filter((_, place) => groups[place] === group));
  const known = new Map([...new Set(groups)].map((group) => [group, { gain: gainOf(group), base: meanOf(group) }]));
  return tasks.map((_, place) => {
    const { gain, base } = known.get(groups[place]!)!;
    // An adapter decides how its own tasks go; other tasks go as they go with base.
    const share = (calls(groups[place]!) ? base : baseRates[place]!) + gain;
    return Math.min(0.99, Math.max(0.01, share));
  });
}

function variancesOf(
  model: LinearModel,
  observations: readonly Observation[],
  width: number,
  ridge: number,
): Float64Array {
  const curvature = new Float64Array(width + 1).fill(ridge);
  curvature[width] = 1e-3;
  for (const { features, trials } of observations) {
    const p = linearProbability(model, features);
    const scale = trials * p * (1 - p);
    features.positions.forEach((position, i) => (curvature[position]! += scale * features.values[i]! ** 2));
    curvature[width] += scale;
  }
  return curvature.map((value) => 1 / value);
}

const spreadOf = ({ positions, values }: SparseVector, variances: Float64Array): number =>
  positions.reduce((sum, position, i) => sum + values[i]! ** 2 * variances[position]!, variances.at(-1)!);

const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));
