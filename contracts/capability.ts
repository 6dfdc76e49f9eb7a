import { z } from 'zod';

/** A capability as the analyst names it. */
export const candidateSchema = z.strictObject({
  /** kebab-case, derived from the name; unique in a run. */
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
  name: z.string().min(1).max(80),
  /** One line of at most 12 words, for the router's menu. */
  summary: z.string().min(1).max(120),
  description: z.string().min(1).max(2000),
});
export type Candidate = z.infer<typeof candidateSchema>;

export const LABELS = ['NA', 'PRESENT', 'LACKING'] as const;
export type Label = (typeof LABELS)[number];

/** One line of a labels artifact. `label: null` means unlabelled: the analyst gave no valid answer. */
export const labelRecordSchema = z.strictObject({
  trajectoryId: z.string(),
  capabilityId: z.string(),
  label: z.enum(LABELS).nullable(),
  /** Index into the trajectory's messages that shows it best, as the analyst quotes it. */
  step: z.number().int().nonnegative().nullable(),
  reason: z.string().max(500),
  /** sha256 over trajectory, capability, prompt version and model: a label is asked once per key. */
  key: z.string(),
});
export type LabelRecord = z.infer<typeof labelRecordSchema>;

/** Contrast of one candidate over all labelled trajectories (paper, section 2). */
export const contrastSchema = z.strictObject({
  capabilityId: z.string(),
  /** Share LACKING among successes where the capability is not NA; null when there is none. */
  errorRateSuccess: z.number().nullable(),
  /** Share LACKING among failures where the capability is not NA; null when there is none. */
  errorRateFailure: z.number().nullable(),
  /** errorRateFailure - errorRateSuccess; null when either is. */
  gap: z.number().nullable(),
  gapLow: z.number().nullable(),
  gapHigh: z.number().nullable(),
  /** Share of all failures in which it is LACKING. */
  coverage: z.number(),
  counts: z.strictObject({
    successLacking: z.number().int(),
    successApplicable: z.number().int(),
    failureLacking: z.number().int(),
    failureApplicable: z.number().int(),
    failures: z.number().int(),
    unlabelled: z.number().int(),
  }),
  kept: z.boolean(),
  /** Why it was kept or which threshold it missed. */
  reason: z.string(),
});
export type Contrast = z.infer<typeof contrastSchema>;

/** Comparison with planted deficits: matched by how well labels agree with the environment's diagnostics, not by name. */
export const plantedSchema = z.strictObject({
  found: z.array(z.strictObject({ planted: z.string(), capabilityId: z.string(), jaccard: z.number() })),
  missed: z.array(z.string()),
  /** Kept capabilities that match no planted deficit. */
  invented: z.array(z.string()),
  decoysKept: z.array(z.string()),
});

export const identificationSchema = z.strictObject({
  candidates: z.array(candidateSchema),
  contrasts: z.array(contrastSchema),
  kept: z.array(z.string()),
  thresholds: z.strictObject({ minGap: z.number(), minCoverage: z.number() }),
  calls: z.strictObject({ discovery: z.number().int(), label: z.number().int(), reused: z.number().int(), unlabelled: z.number().int() }),
  usage: z.strictObject({ promptTokens: z.number().int(), completionTokens: z.number().int(), cachedTokens: z.number().int() }),
  analyst: z.string(),
  planted: plantedSchema.optional(),
});
export type Identification = z.infer<typeof identificationSchema>;
