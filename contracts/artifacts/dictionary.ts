import { z } from 'zod';
import { candidateSchema, CAPABILITY_STATUSES, IDENTIFY_VERDICTS } from './identification';

/** The finding of one run about a known capability. */
const dictionaryEventSchema = z.strictObject({
  runId: z.string(),
  verdict: z.enum(IDENTIFY_VERDICTS),
  status: z.enum(CAPABILITY_STATUSES).nullable(),
  gap: z.number().nullable(),
  coverage: z.number(),
});

/** A capability that an earlier run of the agent examined. */
const dictionaryEntrySchema = candidateSchema.extend({
  /** `lacking`: kept by the last run with enough data. `fixed`: kept once, rejected since. `never`: never kept. */
  state: z.enum(['lacking', 'fixed', 'never']),
  /** Names that were merged into it. */
  aliases: z.array(z.string()),
  /** Oldest first; at most the last 50. */
  history: z.array(dictionaryEventSchema),
});
export type DictionaryEntry = z.infer<typeof dictionaryEntrySchema>;

/** The capabilities of one agent over all its runs; replaced as a whole by compare-and-swap. */
export const dictionarySchema = z.strictObject({ agent: z.string(), entries: z.array(dictionaryEntrySchema) });
export type Dictionary = z.infer<typeof dictionarySchema>;
