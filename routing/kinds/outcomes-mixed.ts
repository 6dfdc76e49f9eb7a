import { z } from 'zod';
import { MIXED, NONE_LABEL } from '../../contracts/names';
import { fitOutcomes } from '../fit/fit-outcomes';
import type { Choose, Kind } from '../kind';
import { linearProbability } from '../need-reader';
import { openingVectors, type SparseVector } from '../opening-features';
import { laterTurns, leftOut, linearModelSchema, severalNeeds, toolNeeds, vocabularySchema } from '../router-parts';

const schema = z
  .strictObject({
    kind: z.literal('outcomes-mixed'),
    leftOut,
    vocabulary: vocabularySchema,
    base: linearModelSchema.describe('Probability that the base model passes.'),
    arms: z
      .array(
        z.strictObject({
          capabilityId: z.string(),
          model: linearModelSchema,
          variances: z
            .array(z.number().nonnegative())
            .readonly()
            .describe('Variance of the weight of each term, then that of the bias.'),
        }),
      )
      .describe('Probability that each adapter passes.'),
    doubt: z
      .number()
      .nonnegative()
      .describe('Standard errors, in log odds, by which the lower bound of an adapter is below its probability.'),
    margin: z
      .number()
      .min(0)
      .max(1)
      .describe('An adapter is chosen whose lower bound is higher than the probability of base by more than this.'),
    severalNeeds,
    laterTurns,
    toolNeeds,
  })
  .describe(
    'The arm that is likeliest to pass, learned from which arm passed which train task. The adapter that was ' +
      'trained on all environments is one of the arms.',
  );
/** A router that learned from outcomes. */
export type OutcomesRouter = z.infer<typeof schema>;

/**
 * Number of standard errors, in log odds, that are subtracted. The errors come only from the diagonal, which overstates
 * them, so a fraction of one is enough.
 */
const DOUBT = 0.3;

/**
 * An arm's pass probability must exceed base's by this much. If both hardly ever pass, smaller differences of the two
 * regressions mean nothing.
 */
const MARGIN = 0.05;

/** Chooses the arm with the highest pass probability, if it is above base's (docs/adr/0020). */
export const outcomesMixed: Kind<OutcomesRouter> = {
  schema,
  needs: { mixed: true, outcomes: true },
  choosesArms: true,
  saysNeeds: false,
  fit: async ({ tasks, capabilities, outcomes, ridge }) => {
    const arms = [...capabilities.map(({ id }) => id), MIXED];
    const fitted = await fitOutcomes({ tasks, arms, outcomes }, { ridge });
    return { kind: 'outcomes-mixed', leftOut: [], ...fitted, doubt: DOUBT, margin: MARGIN };
  },
  open: openOutcomes,
  arms: ({ arms }) => arms.map(({ capabilityId }) => capabilityId),
  words: {
    report:
      'The router `outcomes-mixed` chose the arm that is likeliest to pass, the mixed adapter among them, as it ' +
      'learned from train tasks.',
    learnsFrom: 'which arm passed which train task: a regression per arm',
    cost: 'under 1 ms, no model call',
  },
};

/** If an arm's lower bound is not above base, it is not chosen: in doubt base gets the conversation. */
function openOutcomes({ vocabulary, base, arms, doubt, margin }: OutcomesRouter): Choose {
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

/** A probability with its log odds lowered by this much. */
const lowered = (probability: number, by: number): number => 1 / (1 + ((1 - probability) / probability) * Math.exp(by));

/** Variance of the log odds, as if weights were independent. The last variance is the bias's. */
const varianceOf = ({ positions, values }: SparseVector, variances: readonly number[]): number =>
  positions.reduce((sum, position, i) => sum + values[i]! ** 2 * (variances[position] ?? 0), variances.at(-1) ?? 0);
