import { z } from 'zod';
import { environmentCheckSchema } from './environment-check';
import { intervalSchema } from './evaluation';
import { LABELS } from './identification';
import { chatMessageSchema } from './trajectory';

const playedSchema = z.strictObject({
  source: z
    .enum(['base', 'reference', 'changed'])
    .describe("Who acted: the base model, the environment's reference solution, or that solution with a change."),
  change: z.string().nullable().describe('The change, in words; null without one.'),
  seed: z.int().describe('Seed of the task.'),
  callsForIt: z
    .boolean()
    .nullable()
    .describe('Whether the environment says that the task calls for the capability; null where it was not asked.'),
  reward: z.number().describe('What the environment paid.'),
  paid: z.boolean().describe('The reward counts as a success.'),
});

/**
 * One line of `to-read.jsonl`: a rollout in a synthesised environment for the second reader. The lines are in the order
 * in which they are read.
 */
export const rolloutToReadSchema = playedSchema.extend({ messages: z.array(chatMessageSchema) });
export type RolloutToRead = z.infer<typeof rolloutToReadSchema>;

const readSchema = playedSchema.extend({
  label: z.enum(LABELS).nullable().describe('What the reader said; null: no valid answer.'),
  reason: z.string().describe("The reader's words."),
  step: z.int().nullable().describe('The message that shows it best, as the reader names it.'),
});

/** `second-reading.json`: labels of an environment's rollouts, by a reader that knows neither code nor rewards. */
export const secondReadingSchema = z.strictObject({
  schemaVersion: z.literal(1).describe('Version of this format.'),
  capability: z.string().describe('Id of the capability.'),
  environment: z.string().describe("Hash of the environment's source."),
  analyst: z.string().describe('Model of the reader.'),
  check: environmentCheckSchema.describe('The verdict, as a check of the certificate.'),
  isUndecided: z.boolean().describe('The most labels that agent.yaml allows decided nothing: then it passes.'),
  kappa: z
    .number()
    .nullable()
    .describe("Cohen's kappa of PRESENT or LACKING with paid or not; null where one of the two never varies."),
  lacking: z
    .strictObject({
      here: intervalSchema.nullable().describe('In this environment, weighted as its rollouts are paid.'),
      target: intervalSchema.nullable().describe("In the target's labelled episodes."),
      isLess: z.boolean().describe('It is significantly less here, one-sided at 5 %.'),
    })
    .describe("Share LACKING among the base model's episodes that call for the capability, with 95 % intervals."),
  controls: z
    .strictObject({ read: z.int().describe('How many.'), agreed: z.int().describe('Labelled as before.') })
    .describe("The target's own episodes with a sure label, which were read among the others."),
  read: z.array(readSchema).describe('The rollouts that were read, in order.'),
  disagreements: z
    .array(readSchema.extend({ messages: z.array(chatMessageSchema) }))
    .describe('The shortest rollouts on which label and reward disagree, for the author of the environment.'),
});
export type SecondReading = z.infer<typeof secondReadingSchema>;
