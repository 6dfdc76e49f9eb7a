/** Parts that the schemas of several kinds of routers share. */
import { z } from 'zod';
import { LATER_MESSAGES } from '../contracts/artifacts/router-choice';

const sparseVectorSchema = z.strictObject({
  positions: z.array(z.int().nonnegative()).readonly().describe('Positions that are not 0, in ascending order.'),
  values: z.array(z.number()).readonly().describe('Their values.'),
});

/** The map from a text to numbers. */
export const vocabularySchema = z
  .strictObject({
    terms: z.array(z.int().nonnegative()).readonly().describe('Hashes of words and word pairs, in ascending order.'),
    weights: z.array(z.number()).readonly().describe('Inverse document frequency of each.'),
  })
  .describe('The words that are read, with their weights.');

/** A logistic regression. */
export const linearModelSchema = z.strictObject({
  bias: z.number(),
  weights: sparseVectorSchema,
});
export type LinearModel = z.infer<typeof linearModelSchema>;

/** A regression for each need. */
export const needModelsSchema = z
  .array(z.strictObject({ capabilityId: z.string(), model: linearModelSchema }))
  .describe('Probability that a task calls for each capability.');

/** Regressions of needs, with their vocabulary. */
export interface NeedModels {
  vocabulary: z.infer<typeof vocabularySchema>;
  needs: z.infer<typeof needModelsSchema>;
}

/** Field of every router. */
export const leftOut = z
  .array(z.string())
  .describe('Capabilities whose tasks the base model gets, because their adapter lost more tasks than it gained.');

/** Field of routers whose conversations may change their adapter. */
export const laterTurns = z
  .strictObject({
    reads: z
      .enum(LATER_MESSAGES)
      .describe("The user's messages, or what tools return as well: some agents hear their user through a tool."),
    vocabulary: vocabularySchema,
    needs: needModelsSchema,
    threshold: z
      .number()
      .min(0)
      .max(1)
      .describe('A later message gives the conversation to a capability that is at least this likely.'),
    twoNeeds: z
      .strictObject({
        threshold: z.number().min(0).max(1).describe('An opening calls for a capability that is at least this likely.'),
      })
      .optional()
      .describe(
        'A conversation whose opening calls for exactly two capabilities begins with the one that it asks for ' +
          "first; absent: with the router's choice.",
      ),
  })
  .optional()
  .describe('What later messages call for; absent: a conversation keeps the adapter that it began with.');
/** The model of later messages. */
export type LaterTurnsModel = z.infer<typeof laterTurns> & object;

/** Field of routers whose conversations follow the needs that the results of tools show. */
export const toolNeeds = z
  .strictObject({
    vocabulary: vocabularySchema,
    needs: z
      .array(
        z.strictObject({
          capabilityId: z.string(),
          model: linearModelSchema,
          metBy: z
            .strictObject({
              tool: z.string().describe('Name of the tool.'),
              calls: z.int().positive().describe('Number of its calls.'),
            })
            .nullable()
            .describe('The calls after which the need is met; null: no call tells.'),
        }),
      )
      .describe('Probability that the result of a tool shows each need.'),
    threshold: z.number().min(0).max(1).describe('A result shows a need that is at least this likely.'),
  })
  .optional()
  .describe('What the results of tools call for; absent: they change no adapter.');
/** The model of needs that the results of tools show. */
export type ToolNeedsModel = z.infer<typeof toolNeeds> & object;

/** Field of routers that give openings with several needs to the mixed adapter. */
export const severalNeeds = z
  .strictObject({
    vocabulary: vocabularySchema,
    needs: needModelsSchema,
    threshold: z.number().min(0).max(1).describe('An opening calls for a capability that is at least this likely.'),
  })
  .optional()
  .describe(
    'A conversation whose opening calls for several capabilities gets the adapter that was trained on all ' +
      "environments; absent: the router's choice.",
  );
/** The model of openings with several needs. */
export type SeveralNeedsModel = z.infer<typeof severalNeeds> & object;
