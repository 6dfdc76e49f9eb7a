import { z } from 'zod';

/** An estimate with its bootstrap interval. Shares are in [0, 1], differences in [-1, 1]. */
export const intervalSchema = z.strictObject({ estimate: z.number(), low: z.number(), high: z.number() });
export type Interval = z.infer<typeof intervalSchema>;

export const armSchema = z.strictObject({
  /** `base`, `routed`, `oracle`, `mixed` or an adapter's served name. */
  name: z.string(),
  kind: z.enum(['base', 'adapter', 'mixed', 'routed', 'oracle']),
  passRate: z.strictObject({ estimate: z.number(), low: z.number(), high: z.number() }),
  /** Paired over tasks against base; zero for base itself. */
  minusBase: intervalSchema,
  episodes: z.number().int(),
});
export type Arm = z.infer<typeof armSchema>;

export const evaluationSchema = z.strictObject({
  tasks: z.number().int(),
  trials: z.number().int(),
  confidence: z.number(),
  bootstrapSamples: z.number().int(),
  base: armSchema,
  bestSingle: armSchema,
  routed: armSchema,
  oracle: armSchema,
  mixed: armSchema.optional(),
  adapters: z.array(armSchema),
  routedMinusBase: intervalSchema,
  routedMinusBestSingle: intervalSchema,
  routedMinusMixed: intervalSchema.optional(),
  /** Among tasks that base passed in the majority of trials: share lost by routed, paired interval (positive = loss). */
  regression: z.strictObject({ tasks: z.number().int(), loss: intervalSchema, significant: z.boolean() }),
  byTag: z.array(z.strictObject({ tag: z.string(), tasks: z.number().int(), base: z.number(), routed: z.number() })),
  router: z.strictObject({
    labels: z.array(z.strictObject({ label: z.string(), capabilityId: z.string() })),
    /** Rows: truth by tag (or `none`, `several`); columns: chosen capability. */
    confusion: z.array(z.strictObject({ truth: z.string(), chosen: z.string(), tasks: z.number().int() })),
    meanCoveredMass: z.number(),
    accuracy: z.number().nullable(),
  }),
});
export type Evaluation = z.infer<typeof evaluationSchema>;

/** One routed decision, a line of the routing artifact. */
export const routingRecordSchema = z.strictObject({
  seed: z.number().int(),
  capabilityId: z.string(),
  /** Probability of each label, renormalised over the menu, in menu order. */
  probabilities: z.array(z.number()),
  /** Probability mass that the raw distribution put on the menu's labels. */
  coveredMass: z.number(),
});
export type RoutingRecord = z.infer<typeof routingRecordSchema>;

/** The gate's decision with its reasons in sentences. */
export const gateSchema = z.strictObject({ passed: z.boolean(), reasons: z.array(z.string()) });
export type Gate = z.infer<typeof gateSchema>;
