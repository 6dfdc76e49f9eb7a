import { z } from 'zod';
import { calibrationResultSchema } from './environment-attempt';
import { environmentCheckSchema, transferEstimateSchema } from './environment-check';

/** `certificate.json`: all findings about a synthesised environment from before its training. */
export const certificateSchema = z.strictObject({
  schemaVersion: z.literal(1).describe('Version of this format.'),
  capability: z.string().describe('Id of the capability that it is for.'),
  environment: z
    .strictObject({ sha256: z.string().describe('Hash of the source.'), bytes: z.int().describe('Its size.') })
    .describe('What was certified.'),
  certified: z.boolean().describe('Every check holds, calibration included.'),
  summary: z.string().describe('One sentence for people.'),
  isolation: z.string().describe('What it ran in: `jail`, or `unsafe` where the jail was given up.'),
  settings: z
    .strictObject({
      seeds: z.int().describe('Tasks behind each scripted check.'),
      diversitySeeds: z.int().describe('Tasks compared for near-duplicates.'),
      firstSeed: z.int().describe('Seed of the first of them.'),
    })
    .describe('What the checks looked at.'),
  checks: z.array(environmentCheckSchema).describe('Every check with its numbers and thresholds, in order.'),
  calibration: calibrationResultSchema
    .nullable()
    .describe('Rollouts of the base model; null when a check before it failed, or there was no model.'),
  transfer: transferEstimateSchema
    .nullable()
    .describe('null without a calibration or without trajectories of the agent.'),
});
export type Certificate = z.infer<typeof certificateSchema>;
