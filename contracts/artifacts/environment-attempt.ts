import { z } from 'zod';
import { artifactRefSchema } from './artifact-ref';
import { environmentCheckSchema, transferEstimateSchema, validationSchema } from './environment-check';
import { intervalSchema } from './evaluation';

const rangeSchema = z.strictObject({
  tasks: z.int().describe('Tasks of this range of seeds.'),
  meanReward: z
    .number()
    .describe('Mean reward of these tasks, over the rollouts that `meanReward` of the calibration uses.'),
});

/** Calibration of an environment by rollouts of the base model (paper, section 3). */
export const calibrationResultSchema = z.strictObject({
  seeds: z.int().describe('Tasks rolled out; one group each.'),
  rolloutsPerSeed: z
    .int()
    .describe('Rollouts of the base model on each task, at most: a group that more would not change gets fewer.'),
  rollouts: z.int().describe('Rollouts made.'),
  refused: z
    .int()
    .optional()
    .describe('Those whose conversation the model server refused; they count as failures. Absent: none.'),
  planned: z.int().describe('Rollouts that the fixed design would have made.'),
  doubt: z
    .number()
    .describe('Highest probability that those left out would have changed the verdict; 0 when none were.'),
  rolloutsInMeans: z.int().describe('Rollouts of each task, the first ones, that the means use.'),
  meanReward: z.number().describe("Over each task's first rollouts, of which every task has as many."),
  meanSuccess: z.number().describe('Over the same.'),
  allSuccessGroups: z.number().describe('Share of groups in which every rollout succeeds.'),
  allZeroGroups: z.number().describe('Share of groups in which every reward is 0.'),
  constantGroups: z.number().describe('Share of groups whose rewards are all equal: they teach GRPO nothing.'),
  informativeGroups: z.number().describe('Share of groups whose rewards differ.'),
  rewardStd: z.number().describe('Standard deviation over the same rollouts as the means.'),
  passAt: z
    .record(z.string(), intervalSchema)
    .describe(
      'Probability that at least one of k rollouts succeeds, with its 95 % interval; keys "1", "4", "8", "16" ' +
        'as far as k <= rolloutsPerSeed.',
    ),
  groupMeans: z
    .array(z.number())
    .describe('Mean reward of each group, in order. Every other task has a training seed, the second one first.'),
  bySeeds: z
    .strictObject({
      training: rangeSchema.describe('The tasks with training seeds.'),
      calibration: rangeSchema.describe('The others.'),
    })
    .optional()
    .describe('The two kinds of tasks. Absent: not played.'),
  faulty: z
    .boolean()
    .describe(
      'Its own code failed in the rollouts more often than is allowed: that has to be corrected, whatever the ' +
        'figures are.',
    ),
  verdict: z
    .enum(['in-band', 'too-easy', 'too-hard', 'uninformative', 'differs-by-seed'])
    .describe(
      'Whether the environment can teach this base model something. `differs-by-seed`: with training seeds it pays ' +
        'more or less than with those of calibration.',
    ),
  problems: z
    .array(z.string())
    .describe('One sentence for each violated threshold, with the numbers: fed back to the analyst.'),
});
export type CalibrationResult = z.infer<typeof calibrationResultSchema>;

/** One attempt at an environment for a capability. */
export const environmentAttemptSchema = z.strictObject({
  attempt: z.int().min(1).describe('Counts from 1.'),
  source: artifactRefSchema.describe('The Python module that the analyst wrote.'),
  validation: validationSchema.describe('Checks of the module before any rollout.'),
  calibration: calibrationResultSchema.nullable().describe('null when validation failed.'),
  certificate: z
    .strictObject({
      ref: artifactRefSchema.describe('`certificate.json`, with every check and its numbers.'),
      certified: z.boolean().describe('Every check holds, calibration included.'),
      summary: z.string().describe('One sentence for people.'),
      calibrated: environmentCheckSchema
        .nullable()
        .describe('Calibration as a check, with its thresholds; null when it was not reached.'),
      secondReader: environmentCheckSchema
        .nullable()
        .describe('What a reader without sight of code and rewards found; null when there was none.'),
      transfer: transferEstimateSchema
        .nullable()
        .describe('What is known about transfer before training; null when it was not calibrated.'),
    })
    .describe('What the certificate says in addition to the validation.'),
  reusedFrom: z.string().optional().describe('The earlier run that wrote it; absent: this one did.'),
  calibrationFrom: z.string().optional().describe('The earlier run that calibrated it; absent: this one did.'),
  accepted: z
    .boolean()
    .describe('Valid, in the calibration band, and not wrong to the second reader: the adapter is trained in it.'),
});
export type EnvironmentAttempt = z.infer<typeof environmentAttemptSchema>;
