/** The choice of the router `outcomes-mixed`: the arm that is likeliest to pass, where it is likelier than base. */
import type { OutcomesRouter } from '../artifacts/router';
import { NONE_LABEL } from '../names';
import type { ArmChoice } from './choose-arm';
import { linearProbability } from './need-reader';
import { openingVectors, type SparseVector } from './opening-features';

/** Reads such a router. An arm whose lower bound is not above base is not chosen: in doubt base gets it. */
export function openOutcomes({
  vocabulary,
  base,
  arms,
  doubt,
  margin,
}: OutcomesRouter): (opening: string) => ArmChoice {
  const vectorOf = openingVectors(vocabulary);
  return (opening) => {
    const vector = vectorOf(opening);
    const ofBase = linearProbability(base, vector);
    const better = arms
      .map(({ capabilityId, model, variances }) => ({
        capabilityId,
        probability: linearProbability(model, vector),
        error: Math.sqrt(varianceOf(vector, variances)),
      }))
      .filter(({ probability }) => probability > ofBase + margin)
      .sort((a, b) => b.probability - a.probability);
    const best = better.find(({ probability, error }) => lowered(probability, doubt * error) > ofBase + margin);
    if (best === undefined)
      return { capabilityId: NONE_LABEL, probability: ofBase, reason: better.length > 0 ? 'abstained' : 'routed' };
    return { capabilityId: best.capabilityId, probability: best.probability, reason: 'routed' };
  };
}

/** A probability whose log odds are lowered by so much. */
const lowered = (probability: number, by: number): number => 1 / (1 + ((1 - probability) / probability) * Math.exp(by));

/** Variance of the log odds, as if weights were independent. The last variance is that of the bias. */
const varianceOf = ({ positions, values }: SparseVector, variances: readonly number[]): number =>
  positions.reduce((sum, position, i) => sum + values[i]! ** 2 * (variances[position] ?? 0), variances.at(-1) ?? 0);
