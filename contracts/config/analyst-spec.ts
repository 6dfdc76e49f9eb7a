import { z } from 'zod';
import { count, countOrNone, positive } from './numbers';
import { LONGEST_TIMER_MS } from './milliseconds';
import { apiUrlSchema } from './http-url';

const dollars = z.number().nonnegative();

/** Kinds of personal data with built-in patterns. */
export const REDACTION_RULES = ['email', 'phone', 'card', 'key'] as const;
/** A name in `REDACTION_RULES`. */
export type RedactionRule = (typeof REDACTION_RULES)[number];

const redactionSchema = z
  .strictObject({
    when: z
      .enum(['remote', 'always', 'never'])
      .default('remote')
      .describe(
        'remote: unless the endpoint is on this machine, because then no text leaves it. ' +
          'always, never: whatever the endpoint.',
      ),
    rules: z
      .array(z.enum(REDACTION_RULES))
      .default([...REDACTION_RULES])
      .describe('What is replaced by a sign of its kind.'),
    patterns: z
      .array(
        z.strictObject({
          name: z
            .string()
            .regex(/^[a-z][a-z0-9-]{0,30}$/, 'lower-case letters, digits and dashes')
            .describe('Stands in the text for what was found.'),
          pattern: z
            .string()
            .min(1)
            .refine(isPattern, 'a JavaScript regular expression that matches no empty text')
            .describe('JavaScript regular expression.'),
        }),
      )
      .default([])
      .describe('Own rules, applied before the others: what the pattern matches becomes [name:...].'),
  })
  .prefault({});
export type RedactionSpec = z.infer<typeof redactionSchema>;

/** The analyst of an agent, as its owner writes it. */
export const analystSpecSchema = z
  .strictObject({
    baseUrl: apiUrlSchema.optional().describe('Absent: OPENAI_BASE_URL, else the demo analyst that `whet up` starts.'),
    model: z.string().optional().describe('Absent: WHET_ANALYST_MODEL.'),
    concurrency: count.default(16).describe('Questions at a time.'),
    maxReasks: countOrNone.default(2).describe('Times a malformed answer is asked again with its errors.'),
    timeoutSeconds: count
      .max(Math.floor(LONGEST_TIMER_MS / 1000))
      .default(600)
      .describe(
        'Seconds after which an unanswered question is sent again with the same key; then twice as long each time, ' +
          'up to an hour. Reasoning models may think for minutes.',
      ),
    mode: z
      .enum(['online', 'batch'])
      .default('online')
      .describe("batch: labels go through the endpoint's Batch API, at its price and pace."),
    requestsPerMinute: count
      .optional()
      .describe('Limit of the endpoint, over all workers. Absent: learned from its headers and from 429 answers.'),
    tokensPerMinute: count.optional().describe('As requestsPerMinute.'),
    maxPromptTokens: z
      .int()
      .min(500)
      .default(100_000)
      .describe('A longer episode is shortened, old tool results first, and the report counts it.'),
    pricePerMillionInput: dollars.optional().describe('US dollars for a million prompt tokens.'),
    pricePerMillionCachedInput: dollars
      .optional()
      .describe("For prompt tokens from the endpoint's prefix cache. Absent: as pricePerMillionInput."),
    pricePerMillionOutput: dollars.optional().describe('US dollars for a million completion tokens.'),
    redaction: redactionSchema,
  })
  .prefault({});

/** Prices and limits of the models that play users and judge. */
export const environmentBudgetSchema = z.strictObject({
  usd: positive.optional().describe('US dollars, by the prices here. Absent: no limit.'),
  tokens: count.optional().describe('Prompt and completion tokens together. Absent: no limit.'),
  pricePerMillionInput: dollars.optional().describe('US dollars for a million prompt tokens.'),
  pricePerMillionOutput: dollars.optional().describe('US dollars for a million completion tokens.'),
});

export type EnvironmentBudget = z.infer<typeof environmentBudgetSchema>;

/** Limits on a run's spending; at a limit the run pauses until `whet budget RUN` raises it. */
export const budgetSpecSchema = z
  .strictObject({
    usd: positive.optional().describe("US dollars, by the analyst's prices. Absent: no limit."),
    tokens: count.optional().describe('Prompt and completion tokens together. Absent: no limit.'),
    environment: environmentBudgetSchema
      .optional()
      .describe("The same for the simulated users and judges of the agent's environment, as far as it says their use."),
  })
  .prefault({});
export type BudgetSpec = z.infer<typeof budgetSpecSchema>;

function isPattern(text: string): boolean {
  try {
    return !new RegExp(text, 'u').test('');
  } catch {
    return false;
  }
}
