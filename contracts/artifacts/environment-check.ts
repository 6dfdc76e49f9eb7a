import { z } from 'zod';
import { intervalSchema } from './evaluation';

/** Groups of checks in a certificate, in the order in which they run. */
const CHECK_GROUPS = [
  'form',
  'solvable',
  'reward-hacks',
  'deterministic',
  'diverse',
  'isolated',
  'no-leakage',
  'like-the-target',
  'calibrated',
  'read-blind',
] as const;
/** One of `CHECK_GROUPS`. */
export type CheckGroup = (typeof CHECK_GROUPS)[number];

/** A number that decides a check, with its thresholds. */
const figureSchema = z.strictObject({
  name: z.string().describe('What was measured.'),
  value: z.number().describe('What came out.'),
  atLeast: z.number().optional().describe('The check fails below this.'),
  atMost: z.number().optional().describe('The check fails above this.'),
});
export type Figure = z.infer<typeof figureSchema>;

/** One check of an environment. */
export const environmentCheckSchema = z.strictObject({
  name: z.string().describe('What was checked.'),
  group: z.enum(CHECK_GROUPS).describe('What it is part of.'),
  passed: z.boolean().describe('It holds.'),
  detail: z.string().describe('What was seen, as a sentence with the numbers.'),
  figures: z.array(figureSchema).describe('The numbers, with the thresholds.'),
});
export type EnvironmentCheck = z.infer<typeof environmentCheckSchema>;

/** Checks of an environment that need no model. */
export const validationSchema = z.strictObject({
  passed: z.boolean().describe('Every check passed.'),
  problems: z.array(z.string()).describe('Short sentences, fed back to the analyst.'),
  checks: z
    .array(environmentCheckSchema)
    .describe('In the order they ran, inside the jail. After a failed one of the group `form` there are no more.'),
});
export type Validation = z.infer<typeof validationSchema>;

/** How well success on an environment's tasks predicts success on the agent's (docs/explanations/environments.md). */
export const transferEstimateSchema = z.strictObject({
  tasks: z
    .int()
    .describe("The agent's train tasks and live conversations that need the capability and have a prediction."),
  discrimination: intervalSchema
    .nullable()
    .describe(
      'Chance that of two such tasks the one with more success was predicted to have more; 0.5 is chance. 95 % ' +
        'interval. null: too few tasks.',
    ),
  rankCorrelation: intervalSchema
    .nullable()
    .describe("Spearman's rank correlation of predicted and observed success, with its 95 % interval."),
  detail: z.string().describe('What that means, as a sentence.'),
});
export type TransferEstimate = z.infer<typeof transferEstimateSchema>;
