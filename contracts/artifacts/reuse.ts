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

/** A calibration with any verdict. */
export const reusableCalibrationSchema = z.strictObject({
  ...origin,
  detail: artifactRefSchema,
  certificate: artifactRefSchema,
  /** A few of its rollouts. Absent: in band. */
  rollouts: artifactRefSchema.optional(),
  inBand: z.boolean(),
  faulty: z.boolean(),
  outcome: z.string(),
});
export type ReusableCalibration = z.infer<typeof reusableCalibrationSchema>;

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
    beginsFrom: z.strictObject({ name: z.string(), version: z.number() }).optional(),
  }),
});
