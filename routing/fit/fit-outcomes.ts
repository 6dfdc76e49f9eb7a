/**
 * Fits the router `outcomes-mixed` (docs/adr/0020): the probability that each arm passes a task, by a logistic
 * regression over the words of its opening. Few rollouts are bought, and only where other routers disagree. So for
 * tasks that an arm did not play, the labels give a prior: its outcomes on tasks with the same needs count as half a
 * trial.
 */
import { mean } from '../../activities/statistics/mean';
import { MIXED, NONE_LABEL } from '../../contracts/names';
import type { Outcomes } from '../kind';
import type { RoutingTask } from '../labelled-tasks';
import { linearProbability } from '../need-reader';
import { fitVocabulary, openingVectors } from '../opening-features';
import type { LinearModel, NeedModels } from '../router-parts';
import { fitLogistic, type Observation } from './logistic-regression';

/** Tasks, and the outcomes of these arms on them. */
export interface OutcomesData {
  tasks: readonly RoutingTask[];
  /** Capabilities, without base. */
  arms: readonly string[];
  outcomes: Outcomes;
}

/** The regression of base, and one for each arm. */
export interface ArmModels {
  vocabulary: NeedModels['vocabulary'];
  base: LinearModel;
  arms: { capabilityId: string; model: LinearModel; variances: number[] }[];
}

/** The settings of the fit. */
export interface OutcomesSettings {
  ridge: number;
  /** Weight of the labels, in trials, for tasks that an arm did not play. 0: labels are not used. */
  priorTrials?: number;
}

/**
 * Default weight of the labels, in trials. A larger weight would outweigh an arm's own outcomes. Without labels, an arm
 * would seem certain to pass tasks that it never played.
 */
const PRIOR_TRIALS = 0.5;

/** The gain in a group of tasks is shrunk towards zero, as if this many more trials had gained nothing. */
const SHRINKAGE = 4;

/** A few outcomes make nothing certain, so shares are limited to this range. */
const [LEAST_SHARE, MOST_SHARE] = [0.01, 0.99];

/** Ridge of a bias, as in the regression. */
const BIAS_RIDGE = 1e-3;

/** The regressions of these arms, learned from these tasks. */
export async function fitOutcomes(
  { tasks, arms, outcomes }: OutcomesData,
  { ridge, priorTrials = PRIOR_TRIALS }: OutcomesSettings,
): Promise<ArmModels> {
  const vocabulary = fitVocabulary(tasks.map(({ opening }) => opening));
  const width = vocabulary.terms.length;
  const vectorOf = openingVectors(vocabulary);
  const vectors = tasks.map(({ opening }) => vectorOf(opening));
  const played = (arm: string): (Observation | null)[] =>
    tasks.map(({ seed }, place) => {
      const passes = outcomes.of(seed, arm);
      return passes.length === 0 ? null : { features: vectors[place]!, share: mean(passes), trials: passes.length };
    });
  const base = await fitLogistic(
    played(NONE_LABEL).filter((observation) => observation !== null),
    width,
    ridge,
  );
  const models: ArmModels['arms'] = [];
  for (const capabilityId of arms) {
    const shares = sharesByNeeds(tasks, capabilityId, outcomes);
    const observations = played(capabilityId).flatMap((observation, place): Observation[] => {
      if (observation !== null) return [observation];
      return priorTrials > 0 ? [{ features: vectors[place]!, share: shares[place]!, trials: priorTrials }] : [];
    });
    const model = await fitLogistic(observations, width, ridge);
    models.push({ capabilityId, model, variances: variancesOf(model, observations, width, ridge) });
  }
  return { vocabulary, base, arms: models };
}

/** A task that does not need an arm. */
const OTHERS = 'others';

/** The group of a task for an arm. Tasks of one group are assumed to have the same outcomes. */
function groupOf({ needs }: RoutingTask, arm: string): string {
  // The mixed adapter may have learned one need but not another.
  if (arm === MIXED && needs.length > 0) return needs.length > 1 ? 'several needs' : `need ${needs[0]}`;
  if (!needs.includes(arm)) return OTHERS;
  return needs.length > 1 ? 'its own and others' : 'its own';
}

/** Expected pass rate of an arm on each task, from played tasks with the same needs. */
function sharesByNeeds(tasks: readonly RoutingTask[], arm: string, outcomes: Outcomes): number[] {
  const rows = tasks.map((task) => ({ group: groupOf(task, arm), seed: task.seed, base: mean(task.basePasses) }));
  const groups = new Map(
    [...new Set(rows.map(({ group }) => group))].map((group) => {
      const inside = rows.filter((row) => row.group === group);
      const gains = inside.flatMap(({ seed, base }) => outcomes.of(seed, arm).map((passed) => passed - base));
      const gain = gains.reduce((sum, value) => sum + value, 0) / (gains.length + SHRINKAGE);
      return [group, { gain, base: mean(inside.map(({ base }) => base)) }];
    }),
  );
  return rows.map(({ group, base }) => {
    const all = groups.get(group)!;
    // On its own tasks an adapter's outcomes count; on other tasks base's outcomes do.
    const share = (group === OTHERS ? base : all.base) + all.gain;
    return Math.min(MOST_SHARE, Math.max(LEAST_SHARE, share));
  });
}

/** Variance of each weight, and of the bias: the inverse of the Hessian's diagonal. */
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
