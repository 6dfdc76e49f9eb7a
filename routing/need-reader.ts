/** The probabilities that a text calls for each capability, by regressions over its words. */
import { openingVectors, sparseProduct, type SparseVector } from './opening-features';
import type { LinearModel, NeedModels } from './router-parts';

/** A capability, and how likely a text calls for it. */
export interface NeedProbability {
  capabilityId: string;
  probability: number;
}

/** Reads how likely a text calls for each capability. */
export function needReader({ vocabulary, needs }: NeedModels) {
  const vectorOf = openingVectors(vocabulary);
  return (text: string): NeedProbability[] => {
    const vector = vectorOf(text);
    return needs.map(({ capabilityId, model }) => ({ capabilityId, probability: linearProbability(model, vector) }));
  };
}

/** The needs, the likeliest first. */
export const likeliestFirst = (needs: readonly NeedProbability[]): NeedProbability[] =>
  needs.toSorted((a, b) => b.probability - a.probability);

/** 1 / (1 + exp(-(bias + w · x))). */
export const linearProbability = ({ bias, weights }: LinearModel, vector: SparseVector): number =>
  1 / (1 + Math.exp(-(bias + sparseProduct(weights, vector))));
