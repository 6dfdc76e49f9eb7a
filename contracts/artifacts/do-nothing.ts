import { z } from 'zod';
import { failedByCauseSchema } from './failed-by-cause';

/**
 * `do-nothing.json`: what an agent earns on held-out tasks that says one neutral sentence in every turn and calls no
 * tool.
 */
export const doNothingSchema = z.strictObject({
  /** One for each task that has a result. */
  outcomes: z.array(z.strictObject({ seed: z.int().nonnegative(), passed: z.boolean() })),
  /** Episodes without a result. Absent: none. */
  failed: failedByCauseSchema.optional(),
  /** The run that played them; absent: this one. */
  reusedFrom: z.string().optional(),
});
export type DoNothing = z.infer<typeof doNothingSchema>;

/** Its record for later runs of the agent. */
export const reusableDoNothingSchema = z.strictObject({
  runId: z.string(),
  dependsOn: z.unknown(),
  outcomes: doNothingSchema.shape.outcomes,
});
