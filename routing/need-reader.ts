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
  return (text: string): NeedProbability[] => {
    const vector = vectorOf(text);
    return needs.map(({ capabilityId, model }) => ({ capabilityId, probability: linearProbability(model, vector) }));
  };
}

/** The needs, with the likeliest first. */
export const likeliestFirst = (needs: readonly NeedProbability[]): NeedProbability[] =>
  needs.toSorted((a, b) => b.probability - a.probability);

/** 1 / (1 + exp(-(bias + w · x))). */
export const linearProbability = ({ bias, weights }: LinearModel, vector: SparseVector): number =>
  1 / (1 + Math.exp(-(bias + sparseProduct(weights, vector))));
