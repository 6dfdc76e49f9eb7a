import { z } from 'zod';
import { artifactRefSchema } from './artifacts';

/** Calibration of an environment by rollouts of the base model (paper, section 3). */
export const calibrationResultSchema = z.strictObject({
  seeds: z.number().int().describe('Tasks rolled out; one group each.'),
  rolloutsPerSeed: z.number().int().describe('Rollouts of the base model on each task.'),
  meanReward: z.number().describe('Over all rollouts.'),
  meanSuccess: z.number().describe('Over all rollouts.'),
  allSuccessGroups: z.number().describe('Share of groups in which every rollout succeeds.'),
  allZeroGroups: z.number().describe('Share of groups in which every reward is 0.'),
  constantGroups: z.number().describe('Share of groups whose rewards are all equal: they teach GRPO nothing.'),
  informativeGroups: z.number().describe('Share of groups whose rewards differ.'),
  rewardStd: z.number().describe('Standard deviation over all rollouts.'),
  passAt: z
    .record(z.string(), z.number())
    .describe('Probability that at least one of k rollouts succeeds; keys "1", "4", "8", "16" as far as k <= rolloutsPerSeed.'),
  groupMeans: z.array(z.number()).describe('Mean reward of each group, in order of seeds.'),
  verdict: z.enum(['in-band', 'too-easy', 'too-hard', 'uninformative']).describe('Whether the environment can teach this base model something.'),
  problems: z.array(z.string()).describe('One sentence for each violated threshold, with the numbers: fed back to the analyst.'),
});
export type CalibrationResult = z.infer<typeof calibrationResultSchema>;

/** One attempt at an environment for a capability. */
export const environmentAttemptSchema = z.strictObject({
  attempt: z.number().int().min(1).describe('Counts from 1.'),
  source: artifactRefSchema.describe('The Python module that the analyst wrote.'),
  validation: z
    .strictObject({
      passed: z.boolean().describe('Every check passed.'),
      problems: z.array(z.string()).describe('Short sentences, fed back to the analyst.'),
      checks: z
        .array(
          z.strictObject({
            name: z.string().describe('What was checked.'),
            passed: z.boolean().describe('It holds.'),
            detail: z.string().describe('What was seen.'),
          }),
        )
        .describe('In the order they ran, inside the jail.'),
    })
    .describe('Checks of the module before any rollout.'),
  calibration: calibrationResultSchema.nullable().describe('null when validation failed.'),
  accepted: z.boolean().describe('Valid and in the calibration band: the adapter is trained in it.'),
});
export type EnvironmentAttempt = z.infer<typeof environmentAttemptSchema>;
