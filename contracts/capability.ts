import { z } from 'zod';

/** A capability as the analyst names it. */
export const candidateSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .describe('kebab-case, derived from the name; unique in a run.'),
  name: z.string().min(1).max(80).describe('Short name.'),
  summary: z.string().min(1).max(120).describe("One line of at most 12 words, for the router's menu."),
  description: z.string().min(1).max(2000).describe('What the capability is and how its lack shows.'),
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
  capabilityId: z.string().describe('The candidate.'),
  errorRateSuccess: z.number().nullable().describe('ER+: share LACKING among successes where the capability is not NA; null when there is none.'),
  errorRateFailure: z.number().nullable().describe('ER-: share LACKING among failures where the capability is not NA; null when there is none.'),
  gap: z.number().nullable().describe('errorRateFailure - errorRateSuccess; null when either is.'),
  gapLow: z.number().nullable().describe("Lower end of the gap's 95 % interval."),
  gapHigh: z.number().nullable().describe("Upper end of the gap's 95 % interval."),
  coverage: z.number().describe('Share of all failures in which it is LACKING.'),
  counts: z
    .strictObject({
      successLacking: z.number().int().describe('Successes labelled LACKING.'),
      successApplicable: z.number().int().describe('Successes not labelled NA.'),
      failureLacking: z.number().int().describe('Failures labelled LACKING.'),
      failureApplicable: z.number().int().describe('Failures not labelled NA.'),
      failures: z.number().int().describe('All failures.'),
      unlabelled: z.number().int().describe('Trajectories without a valid label.'),
    })
    .describe('Trajectories behind the rates.'),
  kept: z.boolean().describe('Both thresholds are reached.'),
  reason: z.string().describe('Why it was kept or which threshold it missed.'),
});
export type Contrast = z.infer<typeof contrastSchema>;

/** Comparison with planted deficits: matched by how well labels agree with the environment's diagnostics, not by name. */
export const plantedSchema = z.strictObject({
  found: z
    .array(
      z.strictObject({
        planted: z.string().describe('Diagnostics id of the planted deficit.'),
        capabilityId: z.string().describe('Kept capability that it was matched with.'),
        jaccard: z.number().describe('Agreement of labels and diagnostics over trajectories, 0 to 1.'),
      }),
    )
    .describe('Planted deficits that a kept capability matches.'),
  missed: z.array(z.string()).describe('Planted deficits that no kept capability matches.'),
  invented: z.array(z.string()).describe('Kept capabilities that match no planted deficit.'),
  decoysKept: z.array(z.string()).describe('Decoys that a kept capability matches; there should be none.'),
});

export const identificationSchema = z.strictObject({
  candidates: z.array(candidateSchema).describe('Capabilities that the analyst named.'),
  contrasts: z.array(contrastSchema).describe('One for each candidate.'),
  kept: z.array(z.string()).describe('Ids of the kept ones, most important first.'),
  thresholds: z
    .strictObject({ minGap: z.number().describe('Smallest gap that is kept.'), minCoverage: z.number().describe('Smallest coverage that is kept.') })
    .describe('Paper: 0.20 and 0.10.'),
  calls: z
    .strictObject({
      discovery: z.number().int().describe('Discovery calls.'),
      label: z.number().int().describe('Label calls made by this run.'),
      reused: z.number().int().describe('Labels that were there already.'),
      unlabelled: z.number().int().describe('Labels that could not be obtained.'),
    })
    .describe('Calls to the analyst.'),
  usage: z
    .strictObject({
      promptTokens: z.number().int().describe('Tokens sent.'),
      completionTokens: z.number().int().describe('Tokens received.'),
      cachedTokens: z.number().int().describe('Of those sent: served from the cache of the endpoint.'),
    })
    .describe('Tokens of the analyst.'),
  analyst: z.string().describe('Who labelled, by display name.'),
  planted: plantedSchema.optional().describe('Only where deficits were planted to test Whetstone.'),
});
export type Identification = z.infer<typeof identificationSchema>;
