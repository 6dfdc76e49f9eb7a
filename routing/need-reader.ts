/** The probability of each need of a text, from regressions over its words. */
import { openingVectors, sparseProduct, type SparseVector } from './opening-features';
import type { LinearModel, NeedModels } from './router-parts';

/** A capability, and the probability that a text needs it. */
export interface NeedProbability {
  capabilityId: string;
  probability: number;
}

/** Reads the probability of each need of a text. */
export function needReader({ vocabulary, needs }: NeedModels) {
  const vectorOf = openingVectors(vocabulary);
  const models = needs.map(({ capabilityId, model }) => ({
    capabilityId,
    probabilityOf: probabilityReader(model, vocabulary.terms.length),
  }));
  return (text: string): NeedProbability[] => {
    const vector = vectorOf(text);
    return models.map(({ capabilityId, probabilityOf }) => ({ capabilityId, probability: probabilityOf(vector) }));
  };
}

/** Like `linearProbability`, for many texts: its time grows with the words of the text, not with those of the model. */
function probabilityReader({ bias, weights }: LinearModel, terms: number): (vector: SparseVector) => number {
  const weightOf = new Float64Array(terms);
  weights.positions.forEach((position, i) => (weightOf[position] = weights.values[i]!));
  return ({ positions, values }) =>
    logistic(bias + positions.reduce((sum, position, i) => sum + weightOf[position]! * values[i]!, 0));
}

const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

/** The needs, with the likeliest first. */
export const likeliestFirst = (needs: readonly NeedProbability[]): NeedProbability[] =>
  needs.toSorted((a, b) => b.probability - a.probability);

/** 1 / (1 + exp(-(bias + w · x))). */
export const linearProbability = ({ bias, weights }: LinearModel, vector: SparseVector): number =>
  logistic(bias + sparseProduct(weights, vector));
