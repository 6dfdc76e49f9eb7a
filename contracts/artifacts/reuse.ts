import { z } from 'zod';
import { artifactRefSchema } from './artifact-ref';

/** Fields of every record of `reuse/<agent>/`: its origin. */
const origin = {
  /** The run that made it. */
  runId: z.string(),
  /** The inputs of the key, for people to read. */
  dependsOn: z.unknown(),
};

/** A certified environment of a capability. */
export const reusableEnvironmentSchema = z.strictObject({ ...origin, source: artifactRefSchema });

/** The analyst's reason not to write an environment, in its own words. */
export const reusableDeclineSchema = z.strictObject({ ...origin, reason: z.string() });

/** A calibration with any verdict. */
export const reusableCalibrationSchema = z.strictObject({
  ...origin,
  detail: artifactRefSchema,
  certificate: artifactRefSchema,
  /** A few of its rollouts. Absent: in band. */
  rollouts: artifactRefSchema.optional(),
  /** For the second reader. Absent: out of band, or none was wanted. */
  toRead: artifactRefSchema.optional(),
  inBand: z.boolean(),
  faulty: z.boolean(),
  outcome: z.string(),
});
export type ReusableCalibration = z.infer<typeof reusableCalibrationSchema>;

/** What the second reader found. */
export const reusableReadingSchema = z.strictObject({ ...origin, detail: artifactRefSchema });

/** A trained adapter: the `TrainedAdapter` of the run that trained it. */
export const reusableAdapterSchema = z.strictObject({
  ...origin,
  adapter: z.strictObject({
    name: z.string(),
    capabilityId: z.string(),
    sha256: z.string(),
    key: z.string(),
    manifest: artifactRefSchema,
    rollouts: z.number(),
    seconds: z.number(),
    finalReward: z.number(),
    watched: z.string().optional(),
    beginsFrom: z.strictObject({ name: z.string(), version: z.number() }).optional(),
  }),
});
