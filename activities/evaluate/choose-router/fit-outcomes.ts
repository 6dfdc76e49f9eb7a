/**
 * Fits the router `outcomes-mixed` (docs/adr/0022): the probability that each arm passes a task, by a logistic
 * regression over the words of its opening. Few rollouts are bought, and only where other routers disagree. So where an
 * arm was not played, the labels are its prior: its outcomes on tasks with the same needs count as half a trial.
 */
import type { LinearModel, OutcomesRouter } from '../../../contracts/artifacts/router';
import { MIXED, NONE_LABEL } from '../../../contracts/names';
import { linearProbability } from '../../../contracts/routing/need-reader';
import { fitVocabulary, openingVectors } from '../../../contracts/routing/opening-features';
import { mean } from '../../statistics/mean';
import type { KnownOutcomes } from './known-outcomes';
import { fitLogistic, type Observation } from './logistic-regression';
import type { RoutingTask } from './routing-task';

/** What is learned from: tasks, and the outcomes of these arms on them. */
export interface OutcomesData {
  tasks: readonly RoutingTask[];
  /** Capabilities, besides base. */
  arms: readonly string[];
  known: Pick<KnownOutcomes, 'of'>;
}

/** How it is learned. */
export interface OutcomesSettings {
  ridge: number;
  /** Trials that the labels stand for where an arm was not played. 0: labels are not read. */
  priorTrials?: number;
}

/** With more, an arm's own outcomes on a task are outweighed; without any, it is guessed where it was never played. */
const PRIOR_TRIALS = 0.5;

/** Standard errors, in log odds. They come from the diagonal alone, which overstates them, so a part is enough. */
const DOUBT = 0.3;

/**
 * Chance to pass by which an arm has to be ahead of base. Where both hardly ever pass, the two regressions differ by
 * less, and that means nothing.
 */
const MARGIN = 0.05;

/** Trials of base that what is known of a group of tasks is shrunk towards. */
const SHRINKAGE = 4;

/** No group of tasks is held for certain by its few outcomes. */
const [LEAST_SHARE, MOST_SHARE] = [0.01, 0.99];

/** Ridge of a bias, as in the regression. */
const BIAS_RIDGE = 1e-3;

/** A router of these arms, learned from these tasks. */
export async function fitOutcomes(
  { tasks, arms, known }: OutcomesData,
  { ridge, priorTrials = PRIOR_TRIALS }: OutcomesSettings,
): Promise<OutcomesRouter> {
  const vocabulary = fitVocabulary(tasks.map(({ opening }) => opening));
  const width = vocabulary.terms.length;
  const vectorOf = openingVectors(vocabulary);
  const vectors = tasks.map(({ opening }) => vectorOf(opening));
  const played = (arm: string): (Observation | null)[] =>
    tasks.map(({ seed }, place) => {
      const passes = known.of(seed, arm);
      return passes.length === 0 ? null : { features: vectors[place]!, share: mean(passes), trials: passes.length };
    });
  const base = await fitLogistic(
    played(NONE_LABEL).filter((observation) => observation !== null),
    width,
    ridge,
  );
  const models: { capabilityId: string; model: LinearModel; variances: number[] }[] = [];
  for (const capabilityId of arms) {
    const shares = sharesByNeeds(tasks, capabilityId, known);
    const observations = played(capabilityId).flatMap((observation, place): Observation[] => {
      if (observation !== null) return [observation];
      return priorTrials > 0 ? [{ features: vectors[place]!, share: shares[place]!, trials: priorTrials }] : [];
    });
    const model = await fitLogistic(observations, width, ridge);
    models.push({ capabilityId, model, variances: variancesOf(model, observations, width, ridge) });
  }
  return { kind: 'outcomes-mixed', leftOut: [], vocabulary, base, arms: models, doubt: DOUBT, margin: MARGIN };
}

/** A task that does not call for an arm. */
const OTHERS = 'others';

/** What the needs of a task are to an arm: tasks of one group are taken to go alike. */
function groupOf({ needs }: RoutingTask, arm: string): string {
  // The mixed adapter may have learned one need and not another.
  if (arm === MIXED && needs.length > 0) return needs.length > 1 ? 'several needs' : `need ${needs[0]}`;
  if (!needs.includes(arm)) return OTHERS;
  return needs.length > 1 ? 'its own and others' : 'its own';
}

/** Pass rate of an arm on each task, by what it did to played tasks with the same needs. */
function sharesByNeeds(tasks: readonly RoutingTask[], arm: string, known: OutcomesData['known']): number[] {
  const rows = tasks.map((task) => ({ group: groupOf(task, arm), seed: task.seed, base: mean(task.basePasses) }));
  const groups = new Map(
    [...new Set(rows.map(({ group }) => group))].map((group) => {
      const inside = rows.filter((row) => row.group === group);
      const gains = inside.flatMap(({ seed, base }) => known.of(seed, arm).map((passed) => passed - base));
      const gain = gains.reduce((sum, value) => sum + value, 0) / (gains.length + SHRINKAGE);
      return [group, { gain, base: mean(inside.map(({ base }) => base)) }];
    }),
  );
  return rows.map(({ group, base }) => {
    const all = groups.get(group)!;
    // An adapter decides how its own tasks go; other tasks go as they go with base.
    const share = (group === OTHERS ? base : all.base) + all.gain;
    return Math.min(MOST_SHARE, Math.max(LEAST_SHARE, share));
  });
}

/** Variance of each weight, and of the bias: the inverse of the diagonal of the Hessian. */
function variancesOf(model: LinearModel, observations: readonly Observation[], width: number, ridge: number): number[] {
  const curvature = new Float64Array(width + 1).fill(ridge);
  curvature[width] = BIAS_RIDGE;
  for (const { features, trials } of observations) {
    const p = linearProbability(model, features);
    const scale = trials * p * (1 - p);
    features.positions.forEach((position, i) => (curvature[position]! += scale * features.values[i]! ** 2));
    curvature[width] += scale;
  }
  return [...curvature].map((value) => Math.round(1e4 / value) / 1e4);
}
