import { z } from 'zod';
import { artifactRefSchema } from './artifact-ref';
import { IDENTIFY_VERDICTS } from './identification';

const count = z.int();

/** Mean and spread of a figure over the identifications of a study. */
const spreadSchema = z.strictObject({
  mean: z.number().describe('Over the identifications that have it.'),
  standardDeviation: z.number().nullable().describe('null with fewer than two.'),
  largestDeviation: z.number().describe('Largest distance of one identification from the mean.'),
});
export type Spread = z.infer<typeof spreadSchema>;

/** One capability over the identifications of a study. */
const studyCapabilitySchema = z.strictObject({
  id: z.string().describe('Id in the first identification that named it.'),
  name: z.string().describe('Name there.'),
  names: z.array(z.string()).describe('Every name that identifications gave it.'),
  named: count.describe('Identifications that named it.'),
  kept: count.describe('Identifications that kept it.'),
  gap: spreadSchema.nullable().describe('null where no identification has a gap.'),
  coverage: spreadSchema.describe('Share of all failures in which it is LACKING.'),
  points: z
    .array(
      z.strictObject({
        identification: count.describe('From 0.'),
        capabilityId: z.string().describe('Its id there.'),
        gap: z.number().nullable().describe('Its gap there.'),
        coverage: z.number().describe('Its coverage there.'),
        verdict: z.enum(IDENTIFY_VERDICTS).describe('Its verdict there.'),
        agreement: z
          .number()
          .describe(
            'Jaccard index of the trajectories that lack it there and in the identification that it was ' +
              'matched with; 1 for the first.',
          ),
      }),
    )
    .describe('One for each identification that named it.'),
});
export type StudyCapability = z.infer<typeof studyCapabilitySchema>;

/** `study.json` of `whet study stability`. */
export const stabilityStudySchema = z.strictObject({
  schemaVersion: z.literal(1).describe('Version of this format.'),
  studyId: z.string().describe('Also the id of the workflow.'),
  agent: z.string().describe('Name of the agent.'),
  sourceRun: z.string().describe('Run whose trajectories were used.'),
  createdAt: z.string().describe('ISO 8601, UTC.'),
  analyst: z.string().describe('Display name of the analyst.'),
  trajectories: count.describe('Trajectories labelled in each identification.'),
  identifications: z
    .array(
      z.strictObject({
        seed: count.describe('Seed of its discovery.'),
        kept: z.array(z.string()).describe('Capabilities of the study that it kept.'),
        identification: artifactRefSchema.describe('What it found.'),
      }),
    )
    .describe('In order.'),
  capabilities: z.array(studyCapabilitySchema).describe('Matched over identifications, most often kept first.'),
  keptAgreement: z
    .number()
    .nullable()
    .describe(
      'Mean Jaccard index of the kept capabilities over all pairs of identifications; null with fewer than two.',
    ),
  keptByAll: z.array(z.string()).describe('Capabilities that every identification kept.'),
});
export type StabilityStudy = z.infer<typeof stabilityStudySchema>;
