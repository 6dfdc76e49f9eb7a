import { z } from 'zod';
import { NONE_LABEL } from '../../contracts/names';
import { fitNeeds } from '../fit/fit-needs';
import type { ArmChoice, Kind } from '../kind';
import { likeliestFirst, type NeedProbability, needReader } from '../need-reader';
import { laterTurns, leftOut, needModelsSchema, severalNeeds, toolNeeds, vocabularySchema } from '../router-parts';

/** A need counts if its probability is at least one half. */
const LEAST_PROBABILITY = 0.5;

const schema = z
  .strictObject({
    kind: z.literal('labels'),
    leftOut,
    vocabulary: vocabularySchema,
    needs: needModelsSchema,
    severalNeeds,
    laterTurns,
    toolNeeds,
  })
  .describe('A logistic regression, learned from the labels of identification, says what a task calls for.');

/** Chooses the adapter of the likeliest need. */
export const labels: Kind<z.infer<typeof schema>> = {
  schema,
  needs: { mixed: false, outcomes: false },
  choosesArms: true,
  saysNeeds: true,
  fit: async ({ tasks, live, capabilities, ridge }) => {
    const ids = capabilities.map(({ id }) => id);
    return { kind: 'labels', leftOut: [], ...(await fitNeeds([...tasks, ...live], ids, ridge)) };
  },
  open: (router) => {
    const needsOf = needReader(router);
    return (opening) => likeliestNeed(needsOf(opening));
  },
  arms: ({ needs }) => needs.map(({ capabilityId }) => capabilityId),
  words: {
    report: 'The router `labels` chose by the words of each task, as it learned from the labels of identification.',
    learnsFrom: 'labels of identification: a logistic regression per need',
    cost: 'under 1 ms, no model call',
  },
};

/** The likeliest need, or `none` if each has a probability below one half. */
function likeliestNeed(needs: readonly NeedProbability[]): ArmChoice {
  const [best] = likeliestFirst(needs);
  if (best === undefined) return { capabilityId: NONE_LABEL, probability: 1, reason: 'routed' };
  return best.probability > LEAST_PROBABILITY
    ? { ...best, reason: 'routed' }
    : { capabilityId: NONE_LABEL, probability: 1 - best.probability, reason: 'routed' };
}
