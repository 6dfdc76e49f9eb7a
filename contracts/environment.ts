import { z } from 'zod';
import { artifactRefSchema } from './artifacts';

/** Calibration of an environment by rollouts of the base model (paper, section 3). */
export const calibrationResultSchema = z.strictObject({
  seeds: z.number().int(),
  rolloutsPerSeed: z.number().int(),
  meanReward: z.number(),
  meanSuccess: z.number(),
  allSuccessGroups: z.number(),
  allZeroGroups: z.number(),
  constantGroups: z.number(),
  informativeGroups: z.number(),
  rewardStd: z.number(),
  /** Probability that at least one of k rollouts succeeds; keys "1", "4", "8", "16" as far as k <= rolloutsPerSeed. */
  passAt: z.record(z.string(), z.number()),
  /** Mean reward of each group, in order of seeds: the histogram of the report. */
  groupMeans: z.array(z.number()),
  verdict: z.enum(['in-band', 'too-easy', 'too-hard', 'uninformative']),
  /** One sentence per violated threshold, with the numbers: fed back to the analyst. */
  problems: z.array(z.string()),
});
export type CalibrationResult = z.infer<typeof calibrationResultSchema>;

/** One attempt at an environment for a capability. */
export const environmentAttemptSchema = z.strictObject({
  attempt: z.number().int().min(1),
  source: artifactRefSchema,
  validation: z.strictObject({ passed: z.boolean(), problems: z.array(z.string()), checks: z.array(z.strictObject({ name: z.string(), passed: z.boolean(), detail: z.string() })) }),
  calibration: calibrationResultSchema.nullable(),
  accepted: z.boolean(),
});
export type EnvironmentAttempt = z.infer<typeof environmentAttemptSchema>;
